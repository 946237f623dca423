"""What only the living process knows of its memory.

Nothing here imports a library: one that is not loaded holds no memory. Every
question is asked on its own, since a process that ran out of memory may not be
able to answer it.
"""

import gc
import html
import sys

_MOST_SHAPES = 12


def for_the_log():
    """What the program reads beside the traceback: PyTorch's own tables."""
    torch = _torch_on_cuda()
    if torch is None:
        return ""
    parts = []
    for device in range(torch.cuda.device_count()):
        if _ask(lambda: torch.cuda.memory_reserved(device)):
            parts.append(_ask(lambda: torch.cuda.memory_summary(device)) or "")
    return "".join("\n" + part + "\n" for part in parts)


def of_this_process(tensors=False):
    """Titles, each with its rows of name and value."""
    sections = []
    torch = _torch_on_cuda()
    if torch is not None:
        for device in range(torch.cuda.device_count()):
            rows = _of_device(torch, device)
            if rows:
                sections.append((f"GPU {device}, from this process", rows))
    rows = _of_system()
    if rows:
        sections.append(("This process in system memory", rows))
    if tensors:
        rows = _of_tensors(sys.modules.get("torch"))
        if rows:
            sections.append(("Tensors that Python still holds, by shape", rows))
    return sections


def as_text(sections):
    out = ""
    for title, rows in sections:
        width = max(len(name) for name, _ in rows)
        out += f"\n{title}:\n" + "".join(f"    {name:<{width}}  {value}\n" for name, value in rows)
    return out


def as_html(sections):
    out = ""
    for title, rows in sections:
        cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in rows)
        out += f"<p><strong>{html.escape(title)}</strong></p>\n<table>{cells}</table>\n"
    return out


def amount(count):
    """Bytes in the unit that the program uses, too."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.2f} GiB"
    if count >= 1 << 20:
        return f"{count / (1 << 20):.0f} MiB"
    return f"{count / 1024:.0f} KiB"


def _ask(question):
    try:
        return question()
    except Exception:  # a figure that cannot be had is left out
        return None


def _torch_on_cuda():
    torch = sys.modules.get("torch")
    if torch is None or not _ask(lambda: torch.cuda.is_initialized()):
        return None
    return torch


# What is shown of torch.cuda.memory_stats(); the last two only where they are
# not zero.
_STATS = [
    ("live tensors", "allocated_bytes.all.current", amount),
    ("live tensors at most", "allocated_bytes.all.peak", amount),
    ("held from the driver", "reserved_bytes.all.current", amount),
    ("held but in pieces", "inactive_split_bytes.all.current", amount),
    ("allocations retried", "num_alloc_retries", str),
    ("allocations refused", "num_ooms", str),
]


def _of_device(torch, device):
    stats = _ask(lambda: torch.cuda.memory_stats(device)) or {}
    rows = []
    if stats.get("reserved_bytes.all.peak"):
        for name, key, shown in _STATS:
            value = stats.get(key)
            if value is not None and (shown is amount or value):
                rows.append((name, shown(value)))
    card = _ask(lambda: torch.cuda.mem_get_info(device))
    if rows and card:
        rows.append(("free on the card", f"{amount(card[0])} of {amount(card[1])}"))
    return rows


# What Linux says of this process; other systems have no such file.
_STATUS = [("VmRSS", "resident"), ("VmHWM", "resident at most"), ("VmSwap", "in swap")]


def _of_system():
    found = {}
    for line in _ask(lambda: _lines("/proc/self/status")) or []:
        key, _, value = line.partition(":")
        fields = value.split()
        if len(fields) == 2 and fields[0].isdigit():
            found[key] = int(fields[0]) * 1024
    return [(name, amount(found[key])) for key, name in _STATUS if found.get(key)]


def _lines(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.readlines()


def _of_tensors(torch):
    """Totals by device, type and shape, the largest first. Memory that several
    tensors share is counted once, with the one that shows most of it."""
    if torch is None:
        return []
    owners = {}
    for thing in gc.get_objects():
        if not _ask(lambda: issubclass(type(thing), torch.Tensor)):
            continue
        device, place, size = _ask(lambda: _storage(thing)) or ("", 0, 0)
        if size and thing.numel() > owners.get((device, place), (-1,))[0]:
            owners[device, place] = thing.numel(), f"{device} {str(thing.dtype).replace('torch.', '')} {tuple(thing.shape)}", size
    totals = {}
    for _, key, size in owners.values():
        count, total = totals.get(key, (0, 0))
        totals[key] = (count + 1, total + size)
    ranked = sorted(totals.items(), key=lambda item: -item[1][1])
    rows = [(key, f"{amount(total)} in {count}") for key, (count, total) in ranked[:_MOST_SHAPES]]
    rest = sum(total for _, (_, total) in ranked[_MOST_SHAPES:])
    if rest:
        rows.append(("others", amount(rest)))
    return rows


def _storage(tensor):
    """Device, place and bytes of what a tensor lies in."""
    whole = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()  # since PyTorch 2.0
    return str(tensor.device), whole.data_ptr(), whole.nbytes()
