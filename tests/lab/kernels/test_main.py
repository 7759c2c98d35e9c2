"""`python -m discreet.lab.kernels` compiles what it is asked for."""

import pytest

from discreet.lab.kernels.__main__ import main


def test_kernels_are_compiled_by_the_keys_of_their_algorithms(capsys):
    main(["dp-se", "nas"])  # the first one has no kernel
    assert capsys.readouterr().out.splitlines() == ["compiling 1 kernel", "1 of 1: nas"]
    main(["dp-se"])
    assert capsys.readouterr().out.splitlines() == ["compiling 0 kernels"]


def test_an_unknown_key_is_refused():
    with pytest.raises(SystemExit, match=r"key must be one of adap-klucb, .*, got 'dp-sex'"):
        main(["dp-sex"])
