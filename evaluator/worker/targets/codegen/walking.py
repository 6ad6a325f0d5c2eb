"""What a walk does besides where its code is generated for a card: which buckets it leaves out, and what it notes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evaluator.worker.session import ProbeSession
from evaluator.worker.targets.codegen import eager_limit
from evaluator.worker.walked import BucketWalk


def without_slow(session: ProbeSession, walks: list[BucketWalk]) -> list[BucketWalk]:
    """The walks of the buckets that this CPU can run; the others are reported as what they are."""
    session.stage("eager")
    slow = eager_limit.too_slow(session)
    for walk in walks:
        if walk.bucket.name in slow:
            reason = (
                f"one eager call takes over {eager_limit.LIMIT_S:.0f} s on this CPU, where this target runs"
            )
            session.result(walk.bucket, "unsupported", reason=reason, stage="eager")
    return [walk for walk in walks if walk.bucket.name not in slow]


def note_generated(session: ProbeSession, walk: BucketWalk) -> None:
    """What was generated in this call for a card that is not there, which attention was picked for it, and what differs."""
    if session.codegen is None:
        return
    for kernel in session.codegen.generated:
        session.emit({"kind": "generated", "bucket": walk.bucket.name, **asdict(kernel)})
    for choice in session.codegen.attention:
        if (said := asdict(choice)) not in walk.attention:
            walk.attention.append(said)
    walk.card_notes += [note for note in session.codegen.notes if note not in walk.card_notes]
    session.codegen.notes.clear()
    session.codegen.generated.clear()
    session.codegen.attention.clear()


def facts_of_card(session: ProbeSession, walk: BucketWalk) -> dict[str, Any]:
    if session.codegen is None:
        return {}
    facts: dict[str, Any] = {"card": session.codegen.card.figures}
    found = {"attention": walk.attention, "card_notes": walk.card_notes}
    return facts | {name: said for name, said in found.items() if said}
