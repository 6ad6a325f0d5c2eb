"""What every table shares: constraint names, column types that read the same on both databases, documented columns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    String,
    TypeDecorator,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, MappedColumn, mapped_column

# Every constraint has a name that follows from its columns, so that a migration can drop it on either database.
NAMING: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# SQLite gives a row id only to a column declared INTEGER; PostgreSQL's INTEGER ends at 2,147,483,647 rows.
ROW_ID: Final = BigInteger().with_variant(Integer(), "sqlite")
# none_as_null: a missing value is the database's NULL, never the JSON text `null`.
JSON_TYPE: Final = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class UtcTime(TypeDecorator[datetime]):
    """A moment. Stored in UTC (as text without a zone on SQLite), read back as an aware ``datetime`` in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored moment needs a time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The declarative base; ``Base.metadata`` holds every table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this attribute of the class
        str: String(),
        datetime: UtcTime(),
        dict[str, Any]: JSON_TYPE,
        list[Any]: JSON_TYPE,
    }


def described(doc: str, *arguments: Any, **options: Any) -> MappedColumn[Any]:
    """A column whose meaning and unit are declared with it; they become the schema page and, on PostgreSQL, comments."""
    return mapped_column(*arguments, doc=doc, comment=doc, **options)


def row_id(doc: str) -> MappedColumn[Any]:
    """An integer primary key that the database counts up."""
    return described(doc, ROW_ID, primary_key=True, autoincrement=True)


def one_of(column: str, words: Iterable[str]) -> CheckConstraint:
    """A CHECK that ``column`` holds one of ``words`` (or NULL, which passes every CHECK)."""
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_word")
