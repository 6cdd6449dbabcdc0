from __future__ import annotations

from pathlib import Path

import pytest

from ascend_migrate.config import ConfigError, Settings, load

FULL = """
select = ["NPU1", "NPU2"]
ignore = ["NPU105"]
exclude = ["third_party/", "*_old.py"]
soc = "310p"
torch = "2.6.0"
torch-npu = "2.6.0.post2"
fail-on = "warning"
[{table}per-file-ignores]
"tests/**" = ["NPU2"]
"a.py" = ["NPU1", "NPU3"]
"""


def check_full(settings: Settings, source: Path) -> None:
    assert settings == Settings(
        source=source,
        select=("NPU1", "NPU2"),
        ignore=("NPU105",),
        exclude=("third_party/", "*_old.py"),
        soc="310p",
        torch="2.6.0",
        torch_npu="2.6.0.post2",
        fail_on="warning",
        per_file_ignores=(("tests/**", ("NPU2",)), ("a.py", ("NPU1", "NPU3"))),
    )


def test_pyproject(tmp_path: Path) -> None:
    source = tmp_path / "pyproject.toml"
    source.write_text("[tool.ascend-migrate]" + FULL.replace("{table}", "tool.ascend-migrate."))
    check_full(load(tmp_path), source)


def test_own_file_wins_over_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.ascend-migrate]\nsoc = "910a"\n')
    source = tmp_path / "ascend-migrate.toml"
    source.write_text(FULL.replace("{table}", ""))
    check_full(load(tmp_path), source)


def test_the_nearest_file_that_speaks_of_us_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.ascend-migrate]\nsoc = "far"\n')
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "train.py").write_text("")
    (deep / "pyproject.toml").write_text("[tool.ruff]\nnot even = toml")
    assert load(deep).soc == "far"
    assert load(deep / "train.py").soc == "far"
    (tmp_path / "a" / "ascend-migrate.toml").write_text('soc = "near"\n')
    assert load(deep / "train.py").soc == "near"


def test_nothing_is_configured(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'ascend-migrate-user'\n")
    assert load(tmp_path) == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slect = []", "unknown key `slect`; did you mean `select`?"),
        ("torch_npu = '1'", "unknown key `torch_npu`; did you mean `torch-npu`?"),
        ("zzz = 1", "unknown key `zzz`; the keys are select, ignore, exclude, soc, torch, torch-npu"),
        ("soc = 910", '`soc` must be a string, such as "910", not an integer'),
        ("select = 'NPU1'", '`select` must be a list, such as ["NPU1"], not a string'),
        ("exclude = [1]", "`exclude` must be a list of strings, not a list of something else"),
        ("ignore = true", "`ignore` must be a list of strings, not a boolean"),
        ("fail-on = 'sometimes'", "`fail-on` must be one of error, warning, info, never, not `sometimes`"),
        ("per-file-ignores = ['a']", "`per-file-ignores` must be a table of lists"),
        ("[per-file-ignores]\n'a.py' = 'NPU1'", '`per-file-ignores.a.py` must be a list, such as ["NPU1"]'),
        ("soc = ", "not valid TOML"),
    ],
)
def test_mistakes_name_file_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    source = tmp_path / "ascend-migrate.toml"
    source.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"{source}: {message}")


def test_a_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nascend-migrate = 1\n")
    with pytest.raises(ConfigError, match=r"`tool\.ascend-migrate` must be a table"):
        load(tmp_path)


def test_patterns_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ascend-migrate.toml").write_text(FULL.replace("{table}", ""))
    (tmp_path / "sub").mkdir()
    settings = load(tmp_path / "sub")
    assert settings.excluded(tmp_path / "third_party" / "lib" / "x.py")
    assert settings.excluded(tmp_path / "sub" / "net_old.py")
    assert not settings.excluded(tmp_path / "sub" / "net.py")
    assert not settings.excluded(tmp_path.parent / "net_old.py"), "outside the project"
    assert settings.ignored_in(tmp_path / "tests" / "deep" / "a.py") == ("NPU2", "NPU1", "NPU3")
    assert settings.ignored_in(tmp_path / "sub" / "b.py") == ()
    monkeypatch.chdir(tmp_path / "sub")
    assert settings.excluded(Path("net_old.py"))
    assert settings.excluded(Path("../third_party/x.py"))
