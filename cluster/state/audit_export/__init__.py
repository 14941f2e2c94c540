"""The audit trail for whoever keeps and checks it elsewhere: sent to collectors, written to files, verified offline."""
