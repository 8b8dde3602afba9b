"""What is wrong with a run: rules that read its log and name the number, the likely cause and a setting."""

from loquent.report.diagnosis.log import Finding, Log
from loquent.report.diagnosis.rules import RULES, SILENCE, Diagnosis, diagnose

__all__ = ["RULES", "SILENCE", "Diagnosis", "Finding", "Log", "diagnose"]
