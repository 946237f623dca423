"""python3 -m unittest discover -s python -t python, with OOMDOC_BINARY naming a
binary that was just built. What needs IPython, nbconvert or PyTorch is skipped
where they are missing."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
from unittest import mock

import oomdoc
from oomdoc import _binary, _figures

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(oomdoc.__file__)))
CRASH = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)"

BAR = "|" + "=" * 75 + "|\n"
BOX = (
    "\n" + BAR + "|                  PyTorch CUDA memory summary, device ID 0                 |\n" + BAR.replace("=", "-")
    + "|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n" + BAR
    + "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n" + BAR.replace("=", "-")
    + "| Allocated memory      |   7383 MiB |   7383 MiB |  12000 MiB |   4617 MiB |\n"
    + "| GPU reserved memory   |   7900 MiB |   7900 MiB |   7900 MiB |      0 B   |\n"
    + "| Non-releasable memory |    517 MiB |    600 MiB |   2000 MiB |   1483 MiB |\n" + BAR
)


def has(*names):
    return all(importlib.util.find_spec(name) for name in names)


def caught(error):
    try:
        raise error
    except type(error) as same:
        return same


def python(script, *args, **env):
    """Runs a script as a user would."""
    return subprocess.run(
        [sys.executable, *args, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGE, **env},
    )


class Answers(unittest.TestCase):
    def test_memory(self):
        told = oomdoc.answer(caught(RuntimeError(CRASH)))
        self.assertIn("2.00 GiB did not fit beside 7.21 GiB", told.text())
        self.assertIn("1.", told.text())
        self.assertLessEqual(max(map(len, told.text(60).split("\nThis ")[0].splitlines())), 80)

    @unittest.skipUnless(sys.platform == "linux", "asks Linux's files")
    def test_machine_is_asked(self):
        told = oomdoc.answer(caught(MemoryError()))
        self.assertIn("This machine now", told.text())
        self.assertIn("This machine now", told.html())

    def test_full_is_longer(self):
        error = caught(RuntimeError(CRASH))
        self.assertIn("Won't help here", oomdoc.answer(error, full=True).text())
        self.assertNotIn("Won't help here", oomdoc.answer(error).text())

    def test_bare_memory_error(self):
        self.assertIsNotNone(oomdoc.answer(caught(MemoryError())))

    def test_other_exceptions_start_nothing(self):
        with mock.patch("subprocess.run", side_effect=AssertionError("a process was started")):
            self.assertIsNone(oomdoc.answer(caught(ValueError("no such key"))))

    def test_words_about_memory_alone(self):
        self.assertIsNone(oomdoc.answer(caught(ValueError("the memory of the model is named h0"))))

    def test_cause_of_a_wrapped_exception(self):
        try:
            try:
                raise RuntimeError(CRASH)
            except RuntimeError as inner:
                raise ValueError("the step failed") from inner
        except ValueError as error:
            self.assertIsNotNone(oomdoc.answer(error))

    def test_html_is_escaped(self):
        page = oomdoc.answer(caught(RuntimeError(CRASH + " <script>alert(1)</script>")), full=True).html()
        self.assertNotIn("<script", page)
        self.assertTrue(page.startswith("<style>") and page.endswith("</main>"))
        self.assertNotIn("<body", page)


class Binary(unittest.TestCase):
    def test_named_one_that_is_missing(self):
        with mock.patch.dict(os.environ, {"OOMDOC_BINARY": "/nowhere/oomdoc"}), self.assertRaises(oomdoc.NotFound):
            _binary.find()

    def test_none(self):
        with mock.patch.dict(os.environ, {"PATH": ""}), mock.patch("sysconfig.get_path", return_value="/nowhere"), mock.patch("sys.executable", "/nowhere/python"):
            os.environ.pop("OOMDOC_BINARY", None)
            with self.assertRaises(oomdoc.NotFound):
                _binary.find()

    def test_module_is_the_program(self):
        done = subprocess.run([sys.executable, "-m", "oomdoc", "--format", "json"], input=CRASH, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue(json.loads(done.stdout)["oom"])


class Hooks(unittest.TestCase):
    def test_script(self):
        done = python(f"import oomdoc; oomdoc.install(); raise MemoryError({CRASH!r})")
        self.assertEqual(1, done.returncode)
        trace, _, told = done.stderr.partition("did not fit beside")
        self.assertIn("Traceback (most recent call last)", trace)
        self.assertIn("1. ", told)
        self.assertEqual("", done.stdout)

    def test_thread(self):
        done = python(
            f"""
            import threading, oomdoc
            oomdoc.install()
            def work():
                raise RuntimeError({CRASH!r})
            t = threading.Thread(target=work); t.start(); t.join()
            """
        )
        self.assertIn("did not fit beside", done.stderr)

    def test_other_crash(self):
        done = python("import oomdoc; oomdoc.install(); raise ValueError('out of range')")
        self.assertTrue(done.stderr.rstrip().endswith("ValueError: out of range"), done.stderr)

    def test_interrupt(self):
        done = python("import oomdoc; oomdoc.install(); raise KeyboardInterrupt")
        self.assertTrue(done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr)

    def test_missing_program(self):
        done = python("import oomdoc; oomdoc.install(); raise MemoryError", OOMDOC_BINARY="/nowhere/oomdoc")
        self.assertIn("MemoryError", done.stderr)
        self.assertIn("oomdoc: no answer: OOMDOC_BINARY names /nowhere/oomdoc", done.stderr)

    @unittest.skipUnless(os.name == "posix", "needs a shell")
    def test_program_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "oomdoc")
            with open(path, "w") as f:
                f.write("#!/bin/sh\necho 'oomdoc: it broke' >&2\nexit 2\n")
            os.chmod(path, 0o755)
            done = python("import oomdoc; oomdoc.install(); raise MemoryError", OOMDOC_BINARY=path)
        self.assertIn("oomdoc: no answer: oomdoc: it broke", done.stderr)

    def test_uninstall(self):
        done = python("import oomdoc, sys; h = sys.excepthook; oomdoc.install(); oomdoc.install(full=True); oomdoc.uninstall(); assert sys.excepthook is h; raise MemoryError")
        self.assertTrue(done.stderr.rstrip().endswith("MemoryError"), done.stderr)

    def test_hook_of_others_still_runs(self):
        done = python("import sys, oomdoc; sys.excepthook = lambda *a: print('theirs'); oomdoc.install(); raise MemoryError")
        self.assertIn("theirs", done.stdout)

    @unittest.skipUnless(sys.platform == "linux", "no such limit here")
    def test_real_refusal(self):
        """Python's own MemoryError, under a limit that the program could not
        live with."""
        done = python(
            """
            import resource, oomdoc
            oomdoc.install()
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
            x = bytearray(8 << 30)
            """
        )
        self.assertIn("MemoryError", done.stderr)
        self.assertIn("\n1. ", done.stderr)


def fake_torch():
    """A PyTorch with one card, as far as figures ask it."""
    stats = {
        "allocated_bytes.all.current": 7 << 30,
        "allocated_bytes.all.peak": 8 << 30,
        "reserved_bytes.all.current": 9 << 30,
        "reserved_bytes.all.peak": 9 << 30,
        "inactive_split_bytes.all.current": 300 << 20,
        "num_alloc_retries": 0,
        "num_ooms": 1,
    }
    cuda = types.SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 1,
        memory_reserved=lambda device: 9 << 30,
        memory_summary=lambda device: "|=== PyTorch CUDA memory summary, device ID 0 ===|",
        memory_stats=lambda device: stats,
        mem_get_info=lambda device: (1 << 28, 10 << 30),
    )
    return types.SimpleNamespace(cuda=cuda)


class Figures(unittest.TestCase):
    def test_of_a_card(self):
        with mock.patch.dict(sys.modules, {"torch": fake_torch()}):
            sections = dict(_figures.of_this_process())
            self.assertEqual(
                [
                    ("live tensors", "7.00 GiB"),
                    ("live tensors at most", "8.00 GiB"),
                    ("held from the driver", "9.00 GiB"),
                    ("held but in pieces", "300 MiB"),
                    ("allocations refused", "1"),
                    ("free on the card", "256 MiB of 10.00 GiB"),
                ],
                sections["GPU 0, from this process"],
            )
            self.assertIn("memory summary, device ID 0", _figures.for_the_log())

    def test_a_card_that_no_longer_answers(self):
        torch = fake_torch()

        def fail(*_):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        for name in ("memory_stats", "mem_get_info", "memory_summary"):
            setattr(torch.cuda, name, fail)
        with mock.patch.dict(sys.modules, {"torch": torch}):
            self.assertNotIn("GPU 0, from this process", dict(_figures.of_this_process()))
            self.assertEqual("", _figures.for_the_log().strip())

    def test_nothing_is_imported(self):
        done = python("import sys, oomdoc; from oomdoc import _figures; _figures.of_this_process(True); print('torch' in sys.modules)")
        self.assertEqual("False\n", done.stdout)

    def test_summary_is_read(self):
        """PyTorch's own table adds what the message lacks, and no failure."""
        bare = caught(RuntimeError("CUDA error: out of memory"))
        without = oomdoc.answer(bare).text()
        with mock.patch("oomdoc._figures.for_the_log", return_value=BOX):
            self.assertNotEqual(without, oomdoc.answer(bare).text())
            self.assertNotIn("Another failure", oomdoc.answer(caught(RuntimeError(CRASH))).text())

    def test_summary_of_a_process_that_recovered(self):
        with mock.patch("oomdoc._figures.for_the_log", return_value=BOX):
            self.assertIsNone(oomdoc.answer(caught(ValueError("the memory bank has 3 slots"))))

    def test_written_as_html(self):
        self.assertIn("<td>&lt;b&gt;</td>", _figures.as_html([("t", [("<b>", "1 KiB")])]))

    def test_amounts(self):
        self.assertEqual(["1 KiB", "3 MiB", "1.50 GiB"], [_figures.amount(n) for n in (1024, 3 << 20, 3 << 29)])


@unittest.skipUnless(has("torch"), "no PyTorch here")
class Torch(unittest.TestCase):
    def test_refused_on_the_processor(self):
        done = python(
            """
            import gc, oomdoc, torch
            oomdoc.install(tensors=True)
            held = [torch.zeros(1000, 1000) for _ in range(20)]
            gc.collect()  # so that the view is the younger one
            view = held[0][:10]
            x = torch.zeros(200000, 200000, 400)
            """
        )
        self.assertIn("58.21 TiB", done.stderr)
        self.assertIn("cpu float32 (1000, 1000)", done.stderr)
        self.assertIn("76 MiB in 20", done.stderr)
        self.assertNotIn("(10, 1000)", done.stderr)


@unittest.skipUnless(has("IPython"), "no IPython here")
class Shell(unittest.TestCase):
    def session(self, *lines):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"],
                input="\n".join(lines) + "\n",
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": PACKAGE, "IPYTHONDIR": home, "TERM": "dumb"},
            )
        return done.stdout + done.stderr

    def test_cell(self):
        told = self.session("%load_ext oomdoc", f"raise RuntimeError({CRASH!r})", "1+1")
        self.assertIn("did not fit beside", told)
        self.assertLess(told.index("Traceback"), told.index("did not fit beside"))
        self.assertNotIn("<style>", told)

    def test_other_errors(self):
        told = self.session("%load_ext oomdoc", "%oomdoc", "1/0", "%oomdoc", "%oomdoc --fll")
        self.assertIn("There was no exception yet.", told)
        self.assertIn("The last exception was not about memory.", told)
        self.assertIn("there is no --fll", told)

    def test_magic(self):
        told = self.session("%load_ext oomdoc", f"raise RuntimeError({CRASH!r})", "%oomdoc --full", "%unload_ext oomdoc", "raise MemoryError")
        self.assertIn("Won't help here", told)
        self.assertEqual(2, told.count("more on GPU 0"))

    def test_tensors_are_freed(self):
        """The answer keeps nothing of the cell's frames."""
        told = self.session(
            "%load_ext oomdoc",
            "import weakref, gc, sys",
            "class Big: pass",
            f"def f():\n    global w\n    b = Big(); w = weakref.ref(b)\n    raise RuntimeError({CRASH!r})\n",
            "f()",
            "sys.last_value = sys.last_traceback = sys.last_exc = None; get_ipython().last_execution_result = None; get_ipython()._tb_cache = None",
            "1/0",
            "sys.last_value = sys.last_traceback = sys.last_exc = None; get_ipython().last_execution_result = None; _ = gc.collect()",
            "print('alive' if w() else 'freed')",
        )
        self.assertIn("freed", told)


@unittest.skipUnless(has("nbformat", "nbconvert", "ipykernel"), "no nbconvert here")
class Notebook(unittest.TestCase):
    def test_notebook(self):
        cells = ["%load_ext oomdoc", f"raise RuntimeError({CRASH + ' <b>x</b>'!r})"]
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 4,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "cells": [{"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": None} for c in cells],
        }
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "crash.ipynb")
            with io.open(path, "w") as f:
                json.dump(notebook, f)
            done = subprocess.run(
                [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--output", "done.ipynb", path],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": PACKAGE, "IPYTHONDIR": folder, "JUPYTER_CONFIG_DIR": folder},
            )
            self.assertEqual(0, done.returncode, done.stderr)
            with io.open(os.path.join(folder, "done.ipynb")) as f:
                outputs = json.load(f)["cells"][1]["outputs"]
        self.assertEqual(["error", "display_data"], [o["output_type"] for o in outputs])
        page = "".join(outputs[1]["data"]["text/html"])
        self.assertIn("did not fit beside", page)
        self.assertNotIn("<b>x", page)
        self.assertIn("did not fit beside", "".join(outputs[1]["data"]["text/plain"]))


if __name__ == "__main__":
    unittest.main()
