"""The few things everything else may use: errors, retry, scope, telemetry."""
