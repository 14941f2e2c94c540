# Everything runs from .venv at the root. `make` alone lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install install-runtime notices lock sbom audit bundle system demo up down doctor test test-unit lint \
        eval-ocr eval-qa eval-ir eval-cache eval-ablation eval-embedding eval-ingest eval-agents eval-security eval-tokens eval-replay eval-routing eval-guard eval-sandbox \
        eval-graph eval-cases eval-structure eval-chunkers eval-answers eval-documents-path eval-languages eval-extract eval-corrections \
        packs bench bench-idle bench-1m bench-10m bench-scale bench-gpu bench-fairness test-kill test-chaos test-ha test-upgrade test-restore test-portable test-reembed test-audit test-sources test-console browser slapd dovecot samba syslog test-approvals test-access test-api test-vllm clean

PYTHON ?= python3.11
VENV := .venv
RUN := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
LOCKS := configs/locks
BEGAN := $(shell date +%s)

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

install: system $(STAMP) ## what tests and checks need, too; instant the second time

install-runtime: system $(RUNTIME) ## system packages and what the product itself needs

# RHEL and its like: nobody has tried these names there, so the line is printed, and nothing is installed by it.
DNF := ! command -v apt-get >/dev/null && command -v dnf >/dev/null
UNTRIED := (names looked up, not tried here; tesseract and chromium are EPEL's)

system:
	@need=; for pair in tesseract:tesseract-ocr bwrap:bubblewrap; do \
	  command -v $${pair%%:*} >/dev/null || need="$$need $${pair##*:}"; done; \
	[ -n "$$need" ] || exit 0; \
	if $(DNF); then \
	  echo "Missing:$$need. Run once $(UNTRIED):"; \
	  echo "    sudo dnf install -y tesseract tesseract-langpack-eng bubblewrap libseccomp"; \
	  case "$$need" in *tesseract*) exit 1;; esac; \
	  echo "Everything else works without bubblewrap; Python skills are refused until it is there."; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing:$$need; this account may not install it. Run once:"; \
	  echo "    sudo apt-get update && sudo apt-get install -y$$need libseccomp2"; \
	  case "$$need" in *tesseract*) exit 1;; esac; \
	  echo "Everything else works without bubblewrap; Python skills are refused until it is there."; exit 0; fi; \
	echo "installing$$need"; \
	$$as apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends $$need libseccomp2 >/dev/null

# Everything but the project itself by SHA-256, nothing resolved anew and nothing built with tools from elsewhere. A torch
# without NVIDIA's libraries that is there already stays, and they stay away.
PIP := $(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation
HASHED := $(PIP) --require-hashes

$(RUNTIME): pyproject.toml $(LOCKS)/build.txt $(LOCKS)/runtime.txt $(LOCKS)/cuda.txt
	@command -v $(PYTHON) >/dev/null || { \
	  if $(DNF); then echo "$(PYTHON) is missing. Run: sudo dnf install -y python3.11 python3.11-pip (or set PYTHON=...)"; exit 1; fi; \
	  echo "$(PYTHON) is missing. Run: sudo apt-get install -y python3.11 python3.11-venv (or set PYTHON=...)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "The venv module is missing. Run: sudo apt-get install -y python3.11-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@cuda="-r $(LOCKS)/cuda.txt"; [ -z "$$(find $(VENV)/lib -maxdepth 3 -name 'torch-*+cpu.dist-info')" ] || cuda=; \
	echo "installing what configs/locks lists"; \
	$(HASHED) -r $(LOCKS)/build.txt -r $(LOCKS)/runtime.txt $$cuda
	$(PIP) -e .
	@$(VENV)/bin/pip check --disable-pip-version-check
	@touch $@

$(STAMP): $(RUNTIME) $(LOCKS)/dev.txt
	$(HASHED) -r $(LOCKS)/dev.txt
	@touch $@

demo: $(if $(BLOBS),install)
demo: install-runtime ## start everything, ingest the samples, ask three questions. BLOBS=s3: bytes in a bucket
	$(RUN) -m tests.acceptance.demo --began $(BEGAN) --blobs $(or $(BLOBS),folder)

up: install-runtime ## start everything; returns when all is healthy
	$(VENV)/bin/aos up

down: ## stop everything; the data stays
	@if [ -x $(VENV)/bin/aos ]; then $(VENV)/bin/aos down; else echo "Nothing is installed here."; fi

doctor: install-runtime ## health of every part as one table
	$(VENV)/bin/aos doctor

browser:
	@command -v chromium >/dev/null && exit 0; \
	if $(DNF); then echo "Missing: chromium. Run once $(UNTRIED):"; \
	  echo "    sudo dnf install -y chromium dejavu-sans-fonts && sudo ln -s /usr/bin/chromium-browser /usr/local/bin/chromium"; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing: chromium. Run once: sudo apt-get update && sudo apt-get install -y chromium"; exit 1; fi; \
	echo "installing chromium"; \
	$$as apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null

# For tests alone. Debian would start a server of its own on port 389 at once and at every boot: policy-rc.d (exit 101)
# keeps it from that now, and `update-rc.d`/`systemctl` later. One that was installed before is left as it is.
slapd:
	@[ -x /usr/sbin/slapd ] && command -v ldapmodify >/dev/null && exit 0; \
	if $(DNF); then echo "Missing: slapd. RHEL 9 has openldap-servers in EPEL alone and RHEL 8 has none; these tests want"; \
	  echo "Debian's schema files in /etc/ldap/schema: run them on Debian or Ubuntu."; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing: slapd. Run once: sudo apt-get update && sudo apt-get install -y --no-install-recommends slapd ldap-utils"; \
	  echo "Its service is not needed: sudo systemctl disable --now slapd"; exit 1; fi; \
	echo "installing slapd, without its service"; \
	new=; [ -x /usr/sbin/slapd ] || new=yes; \
	policy=/usr/sbin/policy-rc.d; mine=; \
	if [ ! -e $$policy ]; then printf '#!/bin/sh\nexit 101\n' | $$as tee $$policy >/dev/null; $$as chmod 755 $$policy; mine=yes; fi; \
	trap '[ -z "$$mine" ] || $$as rm -f $$policy' EXIT; \
	$$as apt-get update -qq; \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slapd ldap-utils >/dev/null; \
	[ -z "$$new" ] || $$as update-rc.d slapd disable >/dev/null 2>&1 || true

# For tests alone, and without its service, as slapd above.
dovecot:
	@[ -x /usr/sbin/dovecot ] && [ -e /usr/lib/dovecot/imap ] && exit 0; \
	if $(DNF); then echo "Missing: dovecot. Run once $(UNTRIED):"; \
	  echo "    sudo dnf install -y dovecot"; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing: dovecot. Run once: sudo apt-get update && sudo apt-get install -y --no-install-recommends dovecot-imapd"; \
	  echo "Its service is not needed: sudo systemctl disable --now dovecot"; exit 1; fi; \
	echo "installing dovecot, without its service"; \
	new=; [ -x /usr/sbin/dovecot ] || new=yes; \
	policy=/usr/sbin/policy-rc.d; mine=; \
	if [ ! -e $$policy ]; then printf '#!/bin/sh\nexit 101\n' | $$as tee $$policy >/dev/null; $$as chmod 755 $$policy; mine=yes; fi; \
	trap '[ -z "$$mine" ] || $$as rm -f $$policy' EXIT; \
	$$as apt-get update -qq; \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends dovecot-imapd >/dev/null; \
	[ -z "$$new" ] || $$as update-rc.d dovecot disable >/dev/null 2>&1 || true

syslog:
	@[ -x /usr/sbin/rsyslogd ] && for at in /usr/lib/*/rsyslog /usr/lib64/rsyslog; do \
	  [ ! -e $$at/lmnsd_gtls.so ] || exit 0; done; \
	if $(DNF); then echo "Missing: rsyslog. Run once $(UNTRIED):"; \
	  echo "    sudo dnf install -y rsyslog rsyslog-gnutls"; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing: rsyslog. Run once: sudo apt-get update && sudo apt-get install -y rsyslog rsyslog-gnutls"; exit 1; fi; \
	echo "installing rsyslog"; \
	$$as apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends rsyslog rsyslog-gnutls >/dev/null

# For tests alone, and without its services, as with slapd.
samba:
	@[ -x /usr/sbin/smbd ] && command -v pdbedit >/dev/null && exit 0; \
	if $(DNF); then echo "Missing: samba. Run once $(UNTRIED):"; \
	  echo "    sudo dnf install -y samba"; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Missing: samba. Run once: sudo apt-get update && sudo apt-get install -y --no-install-recommends samba"; \
	  echo "Its services are not needed: sudo systemctl disable --now smbd nmbd samba-ad-dc"; exit 1; fi; \
	echo "installing samba, without its services"; \
	new=; [ -x /usr/sbin/smbd ] || new=yes; \
	policy=/usr/sbin/policy-rc.d; mine=; \
	if [ ! -e $$policy ]; then printf '#!/bin/sh\nexit 101\n' | $$as tee $$policy >/dev/null; $$as chmod 755 $$policy; mine=yes; fi; \
	trap '[ -z "$$mine" ] || $$as rm -f $$policy' EXIT; \
	$$as apt-get update -qq; \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends samba >/dev/null; \
	[ -z "$$new" ] || for one in smbd nmbd samba-ad-dc; do $$as update-rc.d $$one disable >/dev/null 2>&1 || true; done

test-console: install browser ## the console in a browser; pictures in .reports/console
	$(RUN) -m pytest tests/acceptance/console --sessions 200

test: install browser slapd dovecot samba syslog ## all tests, two runs of them at a time
	$(RUN) -m tests.suite

test-unit: install ## the tests that need no Ray, no Gradio, no database and no other process, and how long they take
	$(RUN) -m tests.evals.eval_units

packs: install-runtime ## the .skill packages that ship, into build/packs
	$(VENV)/bin/aos skills packs -o build/packs

notices: install-runtime ## third-party packages with their licences, into configs/third_party_notices.md
	$(RUN) -m cluster.console.notices

lock: install ## the SHA-256 of every pinned package's files, into configs/locks; after each change of a pin
	$(RUN) -m cluster.console.supply.lock

sbom: install ## CycloneDX 1.6 of what is installed, called and inside packages, into build/sbom.cdx.json
	$(RUN) -m cluster.console.supply.sbom

audit: install ## known vulnerabilities of the pinned packages. CI_OFFLINE=1: no answer is no failure
	$(RUN) -m cluster.console.supply.audit_packages $(if $(filter 1,$(CI_OFFLINE)),--offline)

bundle: install-runtime ## all that a machine without a network needs, into build/bundle. MODELS=FOLDER: more models
	$(RUN) -m cluster.console.supply.bundle $(if $(MODELS),--models $(MODELS))

lint: install ## ruff, types, import contracts
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

eval-ocr: install ## reading quality against plain tesseract
	$(RUN) -m tests.evals.eval_ocr

eval-structure: install ## cells of tables, sheets, and the order of columns, on generated pages of known structure
	$(RUN) -m tests.evals.eval_structure

eval-languages: install ## scans in six languages whose language nobody tells, against engines that are told
	$(RUN) -m tests.evals.eval_languages

eval-qa: install ## files of five formats to cited answers: found, quoted, abstained
	$(RUN) -m tests.evals.eval_qa

eval-answers: install ## whether answers hold the answer, on forms alone and among other documents
	$(RUN) -m tests.evals.eval_answers

eval-cache: install ## near misses, paraphrases, and a random walk in which nothing stale may be served
	$(RUN) -m tests.evals.eval_cache

eval-ablation: install ## every hand-written rule of retrieval left out, on every set
	$(RUN) -m tests.evals.eval_ablation

eval-ir: install ## retrieval quality against the references
	$(RUN) -m tests.evals.eval_ir

eval-chunkers: install ## chunking strategies: retrieval quality and index size of each, on the sets of eval-ir
	$(RUN) -m tests.evals.eval_chunkers

eval-embedding: install ## ways to compute vectors: speed and quality of each
	$(RUN) -m tests.evals.eval_embedding

eval-ingest: install ## every kind of file, well-formed or not
	$(RUN) -m tests.evals.eval_ingest

eval-cases: install ## small inputs that are easily read wrongly, and variants of their kinds; none may be wrong unmarked
	$(RUN) -m tests.evals.eval_cases

eval-graph: install ## entities by rule against labelled texts, and what the rules cost
	$(RUN) -m tests.evals.eval_graph

eval-agents: install ## tool calls in every syntax, false completion
	$(RUN) -m tests.evals.eval_agents

eval-security: install ## poisoned documents and a model that obeys them
	$(RUN) -m tests.evals.eval_security

eval-tokens: install ## each way in which a token ends against each door that it opens
	$(RUN) -m tests.evals.eval_tokens

eval-replay: install ## varied runs again, without a network
	$(RUN) -m tests.evals.eval_replay

eval-routing: install ## questions that no rule of the path router should catch
	$(RUN) -m tests.evals.eval_routing

eval-documents-path: install ## sixty phrasings to the DOCUMENTS path: none may be a dead end
	$(RUN) -m tests.evals.eval_documents_path

eval-extract: install ## values by a JSON schema: right without a model, and grounded or flagged with one
	$(RUN) -m tests.evals.eval_extract

eval-corrections: install ## corrections of scanned pages under running questions: found soon, few chunks, nothing stale
	$(RUN) -m tests.evals.eval_corrections

eval-guard: install ## personal data and injections before they are remembered
	$(RUN) -m tests.evals.eval_guard

eval-sandbox: install ## attacks from inside the fence around scripts; nothing may get out
	$(RUN) -m tests.evals.eval_sandbox

bench: install ## throughput and latency, each as a ratio
	$(RUN) -m tests.bench.main

bench-idle: install ## memory and CPU of each part while nothing is asked, default and light; a quarter of an hour
	$(RUN) -m tests.bench.bench_idle

bench-1m: install ## hybrid search at 10,000, 100,000 and a million chunks; takes about an hour
	$(RUN) -m tests.bench.bench_scale

bench-10m: install ## growing corpora under filters from all to .001 %, and the curve to ten million chunks; CHUNKS="30000 100000" FOLDER=dir to go on
	$(RUN) -m tests.bench.bench_10m $(foreach size,$(CHUNKS),--chunks $(size)) $(if $(FOLDER),--folder $(FOLDER))

bench-scale: install ## 1 to 64 readers that sleep, on 1 to 4 nodes of a mini cluster: pages/s against ideal; twenty minutes
	$(RUN) -m tests.bench.bench_readers

bench-gpu: install ## embedder, cross-encoder and EasyOCR on a GPU against the same on the CPU
	$(RUN) -m tests.bench.bench_gpu

bench-fairness: install ## a tenant behind another's bulk, small uploads behind scans, bulk beside busy cores; wants a calm machine. QUICK=1
	$(RUN) -m tests.kill.fairness $(if $(QUICK),--quick)

test-kill: install ## kill things; nothing may be lost. BLOBS=s3: with all bytes in a bucket
	$(RUN) -m tests.kill.main --blobs $(or $(BLOBS),folder)

test-ha: install ## a Postgres primary, Valkey and Ray's head are lost in the middle of a job. ONLY=postgres, valkey or head
	$(RUN) -m tests.kill.failover $(if $(ONLY),--only $(ONLY))

test-chaos: install ## `aos chaos`: 50 faults in a job of 1,000 pages with chats beside it, and a soak. QUICK=1: 12 in 180
	$(RUN) -m tests.kill.chaos $(if $(QUICK),--quick)

test-upgrade: install ## states of earlier versions start under this one; an update under five requests a second
	$(RUN) -m tests.kill.upgrades

test-restore: install ## a filled instance under load backed up, and put back as it was at a time; nothing may differ
	$(RUN) -m tests.kill.restore_drill

test-portable: install ## a workspace exported, imported and merged, each killed on the way; nothing may be lost or doubled
	$(RUN) -m tests.kill.workspace_moves

test-reembed: install ## the embedder changed by settings twice in a row, under readers
	$(RUN) -m tests.kill.embedders

test-audit: install syslog ## a collector of the audit trail away for ten minutes, and killed; nothing may be lost
	$(RUN) -m tests.kill.audit_export

test-approvals: install ## kill agents while people decide; nothing runs twice
	$(RUN) -m tests.kill.approvals

test-sources: install samba dovecot ## sources of each kind, uploads and events under changes, lies and kills; nothing may be lost or doubled
	$(RUN) -m tests.kill.sources

test-vllm: install ## vLLM on the CPU, streamed through the router, in an environment of its own
	$(RUN) -m tests.vllm.main

test-access: install slapd syslog ## sign-in, rights, readers, erasure, limits and audit against real directories, providers and collectors
	$(RUN) -m tests.evals.eval_access

test-api: install ## schemathesis over the running API
	$(RUN) -m tests.evals.eval_api

clean: down ## remove the environment; the state directory stays
	rm -rf $(VENV)
