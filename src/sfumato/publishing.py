"""`sf.publish`: the one function that draws from the rows. Charge, then draw, then seal.

The guarantee rests on this order: the model is checked against the schema, the ledger is charged durably, the draw is made,
its bytes are sealed in the ledger. With a ledger only sealed bytes are returned, one release for each request id: a repeated
request returns the sealed bytes, and a request that was charged but not sealed (a crash) is finished under its charge. That
this costs one draw is proved in docs/proofs/requests.md.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

from sfumato._private_files import remember
from sfumato.dataset import Dataset, files_of
from sfumato.engines.opening import check_engine, open_engine, watched
from sfumato.errors import ArgumentError, LedgerExhausted, PublishError
from sfumato.ledger import Ledger
from sfumato.mechanisms import task_of
from sfumato.mechanisms.plan import Plan
from sfumato.progress import shown
from sfumato.randomness import Randomness
from sfumato.release import Release
from sfumato.schema import Schema


def publish(
    plan: Plan,
    data: Dataset,
    ledger: Ledger | None = None,
    name: str | None = None,
    request_id: str | None = None,
    randomness: Randomness | None = None,
    progress: bool = False,
) -> Release:
    """Carry out a plan on the data and return the release.

    With a ledger the plan's price is charged to `name` (the schema's name if not given) under `request_id` before anything
    is drawn. The same id with the same plan returns the release that was sealed, whatever rows are given now; with another
    plan it is an error. An id that was charged but never sealed (a crash) is drawn and sealed under the same charge. The files
    that the data set was read from are noted beside the witness, so that they are not taken as public rows later.
    `randomness` is for tests: a seeded stream makes a release that is stamped "not private", and ledgers refuse it.
    `progress` shows on the terminal where the rows are, how many of a chain's steps are done and how long the rest will take.
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if not isinstance(data, Dataset):
        raise ArgumentError(f"data must be an sf.Dataset; got {type(data).__name__}. Use sf.Dataset.from_table(...).")
    schema = data.schema
    plan.model.columns(schema)  # refuses a schema that the model does not fit, before anything is charged
    _check_persons(plan, schema)
    _check_weight(plan, schema)
    if data.n != plan.n:
        raise PublishError(
            f"the plan is for n = {plan.n:,} records and the data set has {data.n:,}. Plan again with n={data.n}."
        )
    stream = Randomness() if randomness is None else randomness
    if type(stream) is not Randomness:
        raise ArgumentError("randomness must come from sf.seeded(...); leave it out for a release that is private.")
    procedure, task = task_of(plan)  # refuses a plan that was changed after planning
    trust = plan.guarantee.trust if stream.private else "not private"
    guarantee = replace(plan.guarantee, unit=schema.unit, trust=trust)
    document, digest = plan.recorded()
    account = schema.name if name is None else name
    request = uuid.uuid4().hex if request_id is None else request_id
    if ledger is not None:
        if not stream.private:
            raise PublishError("a ledger accepts no seeded release: it protects nobody. Leave randomness out.")
        stored = ledger.sealed(account, request)
        if stored is not None:
            return _stored(stored, ledger, account, request, digest, schema.digest)
    elif request_id is not None or name is not None:
        raise ArgumentError("name and request_id belong to a ledger; give ledger=sf.Ledger.open(...) too.")
    receipt = None
    if ledger is not None:
        check_engine(data, plan.model, procedure.NEEDS)  # what an engine would refuse is not charged
        remember(files_of(data), ledger.witness)
        # An id that was charged before gets its first receipt here and pays nothing more.
        try:
            receipt = ledger.charge(account, guarantee, request_id=request, plan_digest=digest).to_json()
        except LedgerExhausted as error:
            raise _as_asked(error, plan) from None
    # No row is read before the charge.
    if progress:
        with shown(data.engine) as line, watched(data, line.rows):
            draws = procedure.carry_out(task, open_engine(data, plan.model, procedure.NEEDS), stream, line)
    else:
        draws = procedure.carry_out(task, open_engine(data, plan.model, procedure.NEEDS), stream)
    about = {
        "name": schema.name,
        "unit": schema.unit,
        "digest": schema.digest,
        "document": json.dumps(schema.to_json()),  # as text: the order of the columns counts
    }
    release = Release(draws, plan.goal, document, digest, guarantee, about, receipt)
    if ledger is None:
        return release
    drawn = release.to_bytes()
    sealed = ledger.seal_first(account, request, drawn)
    if sealed == drawn:
        return Release.from_bytes(sealed)
    return _stored(sealed, ledger, account, request, digest, schema.digest)


def _check_persons(plan: Plan, schema: Schema) -> None:
    """Refuse a plan about rows for a table of persons, and the other way round: the promise would be about the wrong unit."""
    declared = None if schema.persons is None else schema.persons.terms
    if plan.persons == declared:
        return
    if plan.persons is None:
        raise PublishError(
            f"the schema declares that one {schema.unit} may have several rows, and the plan is about single rows. Plan with "
            "persons=schema.persons."
        )
    if declared is None:
        raise PublishError(
            "the plan is about persons with several rows, and the schema declares none. Plan without persons=."
        )
    raise PublishError(
        "the plan was made for other persons (id, rule, most or rows) than the schema declares. Plan again."
    )


def _check_weight(plan: Plan, schema: Schema) -> None:
    """Refuse a plan that does not know of the weights of its records, and the other way round."""
    if plan.weight == schema.weight:
        return
    if schema.weight is None:
        raise PublishError("the plan is for records with weights, and the schema declares none. Plan without weight=.")
    fault = "the plan knows of none" if plan.weight is None else "the plan was made for others"
    raise PublishError(
        f"the schema declares weights of records, in column {schema.weight.column!r}, and {fault}. Plan with "
        "weight=schema.weight."
    )


def _as_asked(error: LedgerExhausted, plan: Plan) -> LedgerExhausted:
    """The refusal of a ledger, with the price as the plan asked for it: at its own delta."""
    target = plan.target
    if target is None or not target.epsilon or not target.delta:
        return error
    asked = f" The plan asked for epsilon {target.epsilon:g} at delta {target.delta:g}."
    return LedgerExhausted(f"{error}{asked}", error.spent, error.requested, error.remaining)


def _stored(sealed: bytes, ledger: Ledger, account: str, request: str, digest: str, schema_digest: str) -> Release:
    """The release that was sealed first under this request id, if it is of the same plan and schema.

    It must carry the receipt of its own charge: other bytes in the ledger were put there without a charge.
    """
    release = Release.from_bytes(sealed)
    paid = ledger.receipt(account, request)
    if paid is None or release.receipt != paid.to_json():
        raise PublishError(
            f"what is sealed under request {request!r} of {account!r} does not carry the receipt of its charge: the ledger was "
            "edited. Do not use it; compare the ledger with a backup."
        )
    if release.plan_digest != digest or release.schema["digest"] != schema_digest:
        raise PublishError(
            f"request {request!r} of {account!r} was already used for another plan or schema. "
            "Use a new request_id for a new release."
        )
    return replace(release, stored=True)
