"""Train a small language model of x-transformers for a few steps on made-up text."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

STEPS = 4
TOKENS = 64
LENGTH = 24

device = "cuda:0" if torch.cuda.is_available() else "cpu"


def main():
    print("device", device)
    torch.manual_seed(0)
    layers = Decoder(dim=32, depth=2, heads=2, attn_dim_head=32, rotary_pos_emb=True, attn_flash=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=TOKENS, max_seq_len=LENGTH, attn_layers=layers))
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    text = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        batch = torch.randint(0, TOKENS, (4, LENGTH), generator=text).to(device)
        with torch.autocast("cuda", enabled=False):
            loss = model(batch)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        print(f"step {step} loss {loss.item():.9f} norm {norm.item():.6f}")
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        print("used", torch.cuda.max_memory_allocated() > 0)


if __name__ == "__main__":
    main()
