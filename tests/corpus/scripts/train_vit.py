"""Train two small vision transformers of vit-pytorch for a few steps on made-up images."""

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler
from vit_pytorch import ViT
from vit_pytorch.rvt import RvT

STEPS = 4
CLASSES = 5


def train(name, model):
    if torch.cuda.is_available():
        model = model.cuda()
    criterion = nn.CrossEntropyLoss().to("cuda" if torch.cuda.is_available() else "cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler(enabled=False)
    data = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        images = torch.randn(4, 3, 32, 32, generator=data)
        labels = torch.randint(0, CLASSES, (4,), generator=data)
        if torch.cuda.is_available():
            images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            assert images.is_cuda
        loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(f"{name} step {step} loss {loss.item():.9f}")


def main():
    print("device", "cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    sizes = {
        "image_size": 32,
        "patch_size": 8,
        "num_classes": CLASSES,
        "dim": 32,
        "depth": 2,
        "heads": 2,
        "mlp_dim": 48,
    }
    train("ViT", ViT(**sizes))
    train("RvT", RvT(**sizes))


if __name__ == "__main__":
    main()
