--
-- PostgreSQL database dump
--


-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6


--
-- Data for Name: tenants; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.tenants VALUES
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', NULL, 'tenant-d2365714', '2026-11-29 11:34:44.100046+00', NULL),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', NULL, 'tenant-a1b5b6b1', '2026-11-29 11:34:45.756707+00', NULL),
	('1278ee73-1672-450d-a651-b01c66344b74', NULL, 'tenant-1de8ad09', '2026-11-29 11:34:50.052593+00', NULL),
	('c164ee10-19b2-4a02-a686-6201039ba9ca', NULL, 'office1', '2026-11-29 11:34:50.12721+00', NULL);


--
-- Data for Name: workspaces; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.workspaces VALUES
	('0e8cc306-6493-4416-8462-8129ca02ed42', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', 'bb2b72430ebe4ad1b3fcd9f90e5d1c5a', 1, NULL, 13, '2026-11-29 11:34:44.100046+00', 'auto', 1795952085534771, NULL, '{english}', NULL),
	('c386e94e-0489-4c45-b8d6-fc9d35f78703', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', '2f720b9a35f74a0891272fe895729f46', 1, NULL, 10, '2026-11-29 11:34:45.756707+00', 'auto', 1795952089996883, NULL, '{english}', NULL),
	('83415d6d-beaf-4a84-899a-b0c3c3411074', '1278ee73-1672-450d-a651-b01c66344b74', 'fdc2401e76e84fbfaf806c52efdaabfb', NULL, NULL, 0, '2026-11-29 11:34:50.052593+00', 'auto', 1795952090055046, NULL, '{}', NULL),
	('7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'w', NULL, NULL, 0, '2026-11-29 11:34:50.12721+00', 'auto', 1795952090129645, NULL, '{}', NULL);


--
-- Data for Name: agents; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.agents VALUES
	('ebae877e-1808-4cc9-8e81-9e4b85d5b541', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'keeper', '', '', false, '{}', '2026-11-29 11:34:50.063842+00', '2026-11-29 11:34:50.063842+00', false, '{}');


--
-- Data for Name: academy_enrolments; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: academy_reports; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: agent_skills; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: answers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: answer_citations; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.users VALUES
	('dfa5f000-c121-4103-b088-57ec0000dbb3', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'viewer@office1.example', '$argon2id$v=19$m=8,t=1,p=1$8eaenTuKqjZitSsIn14Z9g$MOsg5+/+aSp1I5jUYzSuAeHHEs6Dh8UCNmBwnJWSQtU', false, 'viewer', false, '2026-11-29 11:34:50.12721+00', 0, NULL, NULL),
	('af1629ea-2492-4fbe-9033-fbfef4cd1bbc', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'developer@office1.example', '$argon2id$v=19$m=8,t=1,p=1$8eaenTuKqjZitSsIn14Z9g$MOsg5+/+aSp1I5jUYzSuAeHHEs6Dh8UCNmBwnJWSQtU', false, 'developer', false, '2026-11-29 11:34:50.12721+00', 0, NULL, NULL),
	('10a99365-5938-4f3b-b127-eac50367ce73', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'operator@office1.example', '$argon2id$v=19$m=8,t=1,p=1$8eaenTuKqjZitSsIn14Z9g$MOsg5+/+aSp1I5jUYzSuAeHHEs6Dh8UCNmBwnJWSQtU', false, 'operator', false, '2026-11-29 11:34:50.12721+00', 0, NULL, NULL),
	('390c8169-f367-44d2-b4c1-8fc43c00a78a', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'admin@office1.example', '$argon2id$v=19$m=8,t=1,p=1$8eaenTuKqjZitSsIn14Z9g$MOsg5+/+aSp1I5jUYzSuAeHHEs6Dh8UCNmBwnJWSQtU', false, 'admin', false, '2026-11-29 11:34:50.12721+00', 0, NULL, NULL);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.sessions VALUES
	('658b6549-9960-4308-a67a-73a3126a4c3a', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', '', '2026-11-29 11:34:50.063842+00', NULL, 'open', '2026-11-29 11:34:50.063842+00');


--
-- Data for Name: runs; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.runs VALUES
	('9233ee10-4bca-4283-9ce0-f8b519502cf0', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', NULL, 0, 'general', 'waiting', true, '{"run": "9233ee10-4bca-4283-9ce0-f8b519502cf0", "path": "general", "agent": {"id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "3017e61e-c7fd-4c65-b323-0e3679d00fa4", "tenant": "1278ee73-1672-450d-a651-b01c66344b74", "workspace": "83415d6d-beaf-4a84-899a-b0c3c3411074", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "d", "options": {}, "session": "658b6549-9960-4308-a67a-73a3126a4c3a", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 5267512853554078017, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:50.074677+00', '2026-11-29 11:34:50.099648+00', NULL, false),
	('b2b5de64-78a3-47ed-b774-e88172906f84', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', NULL, 0, 'general', 'waiting', true, '{"run": "b2b5de64-78a3-47ed-b774-e88172906f84", "path": "general", "agent": {"id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "3017e61e-c7fd-4c65-b323-0e3679d00fa4", "tenant": "1278ee73-1672-450d-a651-b01c66344b74", "workspace": "83415d6d-beaf-4a84-899a-b0c3c3411074", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "b", "options": {}, "session": "658b6549-9960-4308-a67a-73a3126a4c3a", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 6438721616318931958, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:50.070927+00', '2026-11-29 11:34:50.076408+00', NULL, false),
	('3c0c8279-0b44-4a33-9907-6856cab112dd', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', NULL, 0, 'general', 'waiting', true, '{"run": "3c0c8279-0b44-4a33-9907-6856cab112dd", "path": "general", "agent": {"id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "3017e61e-c7fd-4c65-b323-0e3679d00fa4", "tenant": "1278ee73-1672-450d-a651-b01c66344b74", "workspace": "83415d6d-beaf-4a84-899a-b0c3c3411074", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "c", "options": {}, "session": "658b6549-9960-4308-a67a-73a3126a4c3a", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 2163488399193941273, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:50.073147+00', '2026-11-29 11:34:50.08959+00', NULL, false);


--
-- Data for Name: approvals; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.approvals VALUES
	('b6774d37-061d-5e4a-a0e5-7c1ca311e38b', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'b2b5de64-78a3-47ed-b774-e88172906f84', 2, '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', 'approval', 'act', '{"to": "b"}', 'ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:50.086087+00', '2026-11-30 11:34:50.083333+00', NULL, NULL),
	('99121383-cc33-5104-8f4a-a588621d0924', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '3c0c8279-0b44-4a33-9907-6856cab112dd', 2, '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', 'approval', 'act', '{"to": "c"}', '68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:50.097267+00', '2026-11-30 11:34:50.094739+00', NULL, NULL),
	('915286ac-022c-508c-be3d-0f05d5b52578', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '9233ee10-4bca-4283-9ce0-f8b519502cf0', 2, '658b6549-9960-4308-a67a-73a3126a4c3a', 'ebae877e-1808-4cc9-8e81-9e4b85d5b541', '3017e61e-c7fd-4c65-b323-0e3679d00fa4', 'approval', 'act', '{"to": "d"}', '93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:50.108114+00', '2026-11-30 11:34:50.105246+00', NULL, NULL);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_anchors; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_cursors; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_redactions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: classification_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: documents; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.documents VALUES
	('c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:0.txt', '0.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'f30aca1897124c0b3520e2c52d2ac170', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.351864+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:1.txt', '1.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '839e9b1a91d19bd39f72701e33376c76', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.374402+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:2.txt', '2.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '1bf09bace0b2279a41c7a5f39e4114a8', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.38765+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:3.txt', '3.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '9612f5ff8d9cdde1635fa4aba5d369b2', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.403171+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:4.txt', '4.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '53c8e087a3c040ef734e088de5d5b61a', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.420473+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:5.txt', '5.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.43803+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:6.txt', '6.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '2d8b32bd76bcc96253d0aafe2e860fba', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.457014+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:7.txt', '7.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'fd63ecb1bbdd290733e6c2a67b10c848', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.470788+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:8.txt', '8.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'c691cef61176613fa515f04e8c80a7b4', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.48469+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:9.txt', '9.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '59e14936d5c2e6a54155e27ceb4125b0', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.498709+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:10.txt', '10.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'ef2e7acbc3100b5b922635923a40eede', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.512696+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:11.txt', '11.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'bdd3ea87cd08ea137d59abbe629bdf82', 1, true, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:45.52803+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:12.txt', '12.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:13.txt', '13.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:14.txt', '14.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:15.txt', '15.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:16.txt', '16.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('01026b75433390028e82e1d969fee9a6', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload:17.txt', '17.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:45.552431+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('d9e2862732b04f8101959dab8c028d21', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i2', 'i2.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/d9e2862732b04f8101959dab8c028d21-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8"]}', NULL, '71f065a67efbfc7aebdbed370d07a7da', 1, true, '2026-11-29 11:34:49.59906+00', '2026-11-29 11:34:49.91638+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('3aa9f493923556e7032a5b0c3d056850', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i1', 'i1.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/3aa9f493923556e7032a5b0c3d056850-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee"]}', NULL, 'aeed98d6dd2b53bd0999a47e0b28966d', 1, true, '2026-11-29 11:34:49.58935+00', '2026-11-29 11:34:49.899042+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('6ba7edda86d4e8bd5a7d43ed9541bc7e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i3', 'i3.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/6ba7edda86d4e8bd5a7d43ed9541bc7e-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc"]}', NULL, '2979379304e0a65ccec741692f49e45f', 1, true, '2026-11-29 11:34:49.604091+00', '2026-11-29 11:34:49.927131+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('41992443bf225b6577322c4df6ee2f42', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i4', 'i4.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/41992443bf225b6577322c4df6ee2f42-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27"]}', NULL, 'fc0a01e84b0efd0b7808c04b73fe49f6', 1, true, '2026-11-29 11:34:49.608861+00', '2026-11-29 11:34:49.938128+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('f89e09d5c2782ee9302c185aa328c12e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i6', 'i6.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/f89e09d5c2782ee9302c185aa328c12e-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49"]}', NULL, 'c8e86f82e17e2180cfebe558b2805681', 1, true, '2026-11-29 11:34:49.628866+00', '2026-11-29 11:34:49.971695+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('1aa37808d47de17834ce1f44cbdbba15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i0', 'i0.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/1aa37808d47de17834ce1f44cbdbba15-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178"]}', NULL, '295a576c68ccdc1f43af5aba9f135f06', 1, true, '2026-11-29 11:34:49.607445+00', '2026-11-29 11:34:49.949102+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('73c511c2fdd6ec6d450171ae50120dc2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i5', 'i5.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/73c511c2fdd6ec6d450171ae50120dc2-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744"]}', NULL, '3f25ef1604b8dba9121f69860827a4ae', 1, true, '2026-11-29 11:34:49.614006+00', '2026-11-29 11:34:49.959814+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('77a5acbfe5319292ae0b1b1cb0cd2025', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i8', 'i8.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/77a5acbfe5319292ae0b1b1cb0cd2025-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199"]}', NULL, '9d6fca96480d7b27bf17ed5b3237ea77', 1, true, '2026-11-29 11:34:49.661866+00', '2026-11-29 11:34:49.989749+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('05bea389ad95fd6f6d4f8351f95cdc08', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i7', 'i7.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/05bea389ad95fd6f6d4f8351f95cdc08-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361"]}', NULL, '29495e7f8c89c4351b2004fa36b71e15', 1, true, '2026-11-29 11:34:49.637209+00', '2026-11-29 11:34:49.980947+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL);


--
-- Data for Name: context_usage; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: credentials; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: credential_bindings; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: document_agent_links; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: document_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.document_versions VALUES
	('59e14936d5c2e6a54155e27ceb4125b0', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22', 139, 'text', 'file:@FOLDER@/9.txt', 4, 4, '2026-11-29 11:34:44.289405+00', 4),
	('ef2e7acbc3100b5b922635923a40eede', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86', 147, 'text', 'file:@FOLDER@/10.txt', 4, 4, '2026-11-29 11:34:44.300554+00', 4),
	('bdd3ea87cd08ea137d59abbe629bdf82', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4', 147, 'text', 'file:@FOLDER@/11.txt', 4, 4, '2026-11-29 11:34:44.309006+00', 4),
	('f77da0385d5c3b8d556146ef9021a9a1', 'f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed', 147, 'text', 'file:@FOLDER@/13.txt', 4, 4, '2026-11-29 11:34:45.58714+00', NULL),
	('e9c72d0d15df2a758ad12f78dc28ef12', '63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7', 147, 'text', 'file:@FOLDER@/15.txt', 4, 4, '2026-11-29 11:34:45.606625+00', NULL),
	('f30aca1897124c0b3520e2c52d2ac170', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250', 135, 'text', 'file:@FOLDER@/0.txt', 4, 4, '2026-11-29 11:34:44.16869+00', 4),
	('839e9b1a91d19bd39f72701e33376c76', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb', 139, 'text', 'file:@FOLDER@/1.txt', 4, 4, '2026-11-29 11:34:44.185816+00', 4),
	('1bf09bace0b2279a41c7a5f39e4114a8', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef', 139, 'text', 'file:@FOLDER@/2.txt', 4, 4, '2026-11-29 11:34:44.198948+00', 4),
	('70174ef333cbfb9f6e4df51d21926bee', '5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0', 147, 'text', 'file:@FOLDER@/14.txt', 4, 4, '2026-11-29 11:34:45.596892+00', NULL),
	('9612f5ff8d9cdde1635fa4aba5d369b2', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe', 139, 'text', 'file:@FOLDER@/3.txt', 4, 4, '2026-11-29 11:34:44.212854+00', 4),
	('53c8e087a3c040ef734e088de5d5b61a', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9', 139, 'text', 'file:@FOLDER@/4.txt', 4, 4, '2026-11-29 11:34:44.225657+00', 4),
	('07729d73975113cce6ad2026e56abfda', 'ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345', 147, 'text', 'file:@FOLDER@/12.txt', 4, 4, '2026-11-29 11:34:45.576613+00', NULL),
	('7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe', 139, 'text', 'file:@FOLDER@/5.txt', 4, 4, '2026-11-29 11:34:44.240469+00', 4),
	('2d8b32bd76bcc96253d0aafe2e860fba', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701', 139, 'text', 'file:@FOLDER@/6.txt', 4, 4, '2026-11-29 11:34:44.253665+00', 4),
	('fd63ecb1bbdd290733e6c2a67b10c848', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a', 139, 'text', 'file:@FOLDER@/7.txt', 4, 4, '2026-11-29 11:34:44.265541+00', 4),
	('c691cef61176613fa515f04e8c80a7b4', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae', 139, 'text', 'file:@FOLDER@/8.txt', 4, 4, '2026-11-29 11:34:44.277675+00', 4),
	('1e9b940dcceb208936d44ad0a2cc893a', 'e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5', 147, 'text', 'file:@FOLDER@/16.txt', 4, 4, '2026-11-29 11:34:45.615735+00', NULL),
	('71f065a67efbfc7aebdbed370d07a7da', 'd9e2862732b04f8101959dab8c028d21', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/d9e2862732b04f8101959dab8c028d21-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8', 1, 1, '2026-11-29 11:34:49.724789+00', 1),
	('589da09ddc6249f922cb4f7a00ddf2e7', '01026b75433390028e82e1d969fee9a6', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47', 147, 'text', 'file:@FOLDER@/17.txt', 4, 2, '2026-11-29 11:34:45.625537+00', NULL),
	('2979379304e0a65ccec741692f49e45f', '6ba7edda86d4e8bd5a7d43ed9541bc7e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/6ba7edda86d4e8bd5a7d43ed9541bc7e-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc', 1, 1, '2026-11-29 11:34:49.737383+00', 1),
	('fc0a01e84b0efd0b7808c04b73fe49f6', '41992443bf225b6577322c4df6ee2f42', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/41992443bf225b6577322c4df6ee2f42-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27', 1, 1, '2026-11-29 11:34:49.74916+00', 1),
	('295a576c68ccdc1f43af5aba9f135f06', '1aa37808d47de17834ce1f44cbdbba15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/1aa37808d47de17834ce1f44cbdbba15-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178', 1, 1, '2026-11-29 11:34:49.760708+00', 1),
	('3f25ef1604b8dba9121f69860827a4ae', '73c511c2fdd6ec6d450171ae50120dc2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/73c511c2fdd6ec6d450171ae50120dc2-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744', 1, 1, '2026-11-29 11:34:49.772771+00', 1),
	('aeed98d6dd2b53bd0999a47e0b28966d', '3aa9f493923556e7032a5b0c3d056850', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/3aa9f493923556e7032a5b0c3d056850-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee', 1, 1, '2026-11-29 11:34:49.710072+00', 1),
	('c8e86f82e17e2180cfebe558b2805681', 'f89e09d5c2782ee9302c185aa328c12e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/f89e09d5c2782ee9302c185aa328c12e-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49', 1, 1, '2026-11-29 11:34:49.784516+00', 1),
	('29495e7f8c89c4351b2004fa36b71e15', '05bea389ad95fd6f6d4f8351f95cdc08', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/05bea389ad95fd6f6d4f8351f95cdc08-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361', 1, 1, '2026-11-29 11:34:49.796217+00', 1),
	('9d6fca96480d7b27bf17ed5b3237ea77', '77a5acbfe5319292ae0b1b1cb0cd2025', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199', 29, 'text', 'blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/77a5acbfe5319292ae0b1b1cb0cd2025-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199', 1, 1, '2026-11-29 11:34:49.807695+00', 1);


--
-- Data for Name: document_chunks; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.document_chunks VALUES
	('32dd132f02dc85417ecc9165c93e66ca', 'c563f6526c09f300f3761030fbd9f975', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 0 page 1 tells of harbour 1.
Book 0 page 2 tells of harbour 2.
Book 0 page 3 tells of harbour 3.
Book 0 page 4 tells of harbour 4.', 'Book 0 page 1 tells of harbour 1.
Book 0 page 2 tells of harbour 2.
Book 0 page 3 tells of harbour 3.
Book 0 page 4 tells of harbour 4.', 1, 4, '[[1, 0, 33], [2, 0, 33], [3, 0, 33], [4, 0, 33]]', '[]', '{}', '{"doc_id": "c563f6526c09f300f3761030fbd9f975", "metrics": {"density": null, "entropy": 4.089, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "0.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('86c66f863decfbdd17cc019b8c1fda07', 'ce9df7ad84b8a51f10d0e70db455dff9', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 1 page 1 tells of harbour 11.
Book 1 page 2 tells of harbour 12.
Book 1 page 3 tells of harbour 13.
Book 1 page 4 tells of harbour 14.', 'Book 1 page 1 tells of harbour 11.
Book 1 page 2 tells of harbour 12.
Book 1 page 3 tells of harbour 13.
Book 1 page 4 tells of harbour 14.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "ce9df7ad84b8a51f10d0e70db455dff9", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "1.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('7a514dceba1c1d9a0f0b5c00301d7af1', '4b1d0e3eeaf9b512e226146f75b16dea', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 2 page 1 tells of harbour 21.
Book 2 page 2 tells of harbour 22.
Book 2 page 3 tells of harbour 23.
Book 2 page 4 tells of harbour 24.', 'Book 2 page 1 tells of harbour 21.
Book 2 page 2 tells of harbour 22.
Book 2 page 3 tells of harbour 23.
Book 2 page 4 tells of harbour 24.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "4b1d0e3eeaf9b512e226146f75b16dea", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "2.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('190384634fdc99f96522d46c83cf9a3f', '957aaeb2af30905bc9f366754a197703', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 3 page 1 tells of harbour 31.
Book 3 page 2 tells of harbour 32.
Book 3 page 3 tells of harbour 33.
Book 3 page 4 tells of harbour 34.', 'Book 3 page 1 tells of harbour 31.
Book 3 page 2 tells of harbour 32.
Book 3 page 3 tells of harbour 33.
Book 3 page 4 tells of harbour 34.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "957aaeb2af30905bc9f366754a197703", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "3.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('90ab2c15309acdfaabc038d5569b20fe', '99d5fcb315ea6b26d0329aa7bdf9beff', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 4 page 1 tells of harbour 41.
Book 4 page 2 tells of harbour 42.
Book 4 page 3 tells of harbour 43.
Book 4 page 4 tells of harbour 44.', 'Book 4 page 1 tells of harbour 41.
Book 4 page 2 tells of harbour 42.
Book 4 page 3 tells of harbour 43.
Book 4 page 4 tells of harbour 44.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "99d5fcb315ea6b26d0329aa7bdf9beff", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "4.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('309682a39301a08668aee9fb312031e1', 'fc691c8087e6e53206f9f2f27c86d5fc', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 5 page 1 tells of harbour 51.
Book 5 page 2 tells of harbour 52.
Book 5 page 3 tells of harbour 53.
Book 5 page 4 tells of harbour 54.', 'Book 5 page 1 tells of harbour 51.
Book 5 page 2 tells of harbour 52.
Book 5 page 3 tells of harbour 53.
Book 5 page 4 tells of harbour 54.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "fc691c8087e6e53206f9f2f27c86d5fc", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "5.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('eb25a573a18cb6a4d8ac2b4998b42ff0', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 6 page 1 tells of harbour 61.
Book 6 page 2 tells of harbour 62.
Book 6 page 3 tells of harbour 63.
Book 6 page 4 tells of harbour 64.', 'Book 6 page 1 tells of harbour 61.
Book 6 page 2 tells of harbour 62.
Book 6 page 3 tells of harbour 63.
Book 6 page 4 tells of harbour 64.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "ae1fd2778e54c7b5e7aaa0e04ff2400e", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "6.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('67fa50c8d6dcbdc486d5269f6112c0bd', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 7 page 1 tells of harbour 71.
Book 7 page 2 tells of harbour 72.
Book 7 page 3 tells of harbour 73.
Book 7 page 4 tells of harbour 74.', 'Book 7 page 1 tells of harbour 71.
Book 7 page 2 tells of harbour 72.
Book 7 page 3 tells of harbour 73.
Book 7 page 4 tells of harbour 74.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "c02cb0cd11ca4652ef6efdc611ebb6ff", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "7.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('ce5b51289ed38218afbeaada63e51d4e', '4f1c7357eda999bd87dc2353b40af427', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 8 page 1 tells of harbour 81.
Book 8 page 2 tells of harbour 82.
Book 8 page 3 tells of harbour 83.
Book 8 page 4 tells of harbour 84.', 'Book 8 page 1 tells of harbour 81.
Book 8 page 2 tells of harbour 82.
Book 8 page 3 tells of harbour 83.
Book 8 page 4 tells of harbour 84.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "4f1c7357eda999bd87dc2353b40af427", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "8.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('e60c813decaa899259687ec37c490fb1', '3ef05118d1435a153fbf5a0de2382846', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 9 page 1 tells of harbour 91.
Book 9 page 2 tells of harbour 92.
Book 9 page 3 tells of harbour 93.
Book 9 page 4 tells of harbour 94.', 'Book 9 page 1 tells of harbour 91.
Book 9 page 2 tells of harbour 92.
Book 9 page 3 tells of harbour 93.
Book 9 page 4 tells of harbour 94.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "3ef05118d1435a153fbf5a0de2382846", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "9.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('e0eb23dd1bcc28c99a9120c6ad086730', 'adf4c7be9333d7af3c2a60478182a1f3', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 10 page 1 tells of harbour 101.
Book 10 page 2 tells of harbour 102.
Book 10 page 3 tells of harbour 103.
Book 10 page 4 tells of harbour 104.', 'Book 10 page 1 tells of harbour 101.
Book 10 page 2 tells of harbour 102.
Book 10 page 3 tells of harbour 103.
Book 10 page 4 tells of harbour 104.', 1, 4, '[[1, 0, 36], [2, 0, 36], [3, 0, 36], [4, 0, 36]]', '[]', '{}', '{"doc_id": "adf4c7be9333d7af3c2a60478182a1f3", "metrics": {"density": null, "entropy": 4.1345, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "10.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('146a2e72730a34456de9e26ef323dff0', 'a96fdfe27795231811847da652c17fd5', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '5b97646845386c0c', 0, 'Book 11 page 1 tells of harbour 111.
Book 11 page 2 tells of harbour 112.
Book 11 page 3 tells of harbour 113.
Book 11 page 4 tells of harbour 114.', 'Book 11 page 1 tells of harbour 111.
Book 11 page 2 tells of harbour 112.
Book 11 page 3 tells of harbour 113.
Book 11 page 4 tells of harbour 114.', 1, 4, '[[1, 0, 36], [2, 0, 36], [3, 0, 36], [4, 0, 36]]', '[]', '{}', '{"doc_id": "a96fdfe27795231811847da652c17fd5", "metrics": {"density": null, "entropy": 4.0131, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "11.txt", "upload_date": "2026-11-29T11:34:44.114120+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('83363770a7a709d3acdf4f9433a9ae2e', '3aa9f493923556e7032a5b0c3d056850', 'aeed98d6dd2b53bd0999a47e0b28966d', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 1 tells of lighthouse 1.', 'Item 1 tells of lighthouse 1.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "3aa9f493923556e7032a5b0c3d056850", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i1.txt", "upload_date": "2026-11-29T11:34:49.589350+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('07d46482a3fa8cd05d2ec36e2af25a79', 'd9e2862732b04f8101959dab8c028d21', '71f065a67efbfc7aebdbed370d07a7da', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 2 tells of lighthouse 2.', 'Item 2 tells of lighthouse 2.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "d9e2862732b04f8101959dab8c028d21", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i2.txt", "upload_date": "2026-11-29T11:34:49.599060+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('7b8fc6df3d525b0432cdee0edc66c7d9', '6ba7edda86d4e8bd5a7d43ed9541bc7e', '2979379304e0a65ccec741692f49e45f', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 3 tells of lighthouse 3.', 'Item 3 tells of lighthouse 3.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "6ba7edda86d4e8bd5a7d43ed9541bc7e", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i3.txt", "upload_date": "2026-11-29T11:34:49.604091+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('834ebc9c9a3c7255e71e3f5b3f974c5c', '41992443bf225b6577322c4df6ee2f42', 'fc0a01e84b0efd0b7808c04b73fe49f6', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 4 tells of lighthouse 4.', 'Item 4 tells of lighthouse 4.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "41992443bf225b6577322c4df6ee2f42", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i4.txt", "upload_date": "2026-11-29T11:34:49.608861+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('6de09396b030fb088e178e7a44a6dc00', '1aa37808d47de17834ce1f44cbdbba15', '295a576c68ccdc1f43af5aba9f135f06', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 0 tells of lighthouse 0.', 'Item 0 tells of lighthouse 0.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "1aa37808d47de17834ce1f44cbdbba15", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i0.txt", "upload_date": "2026-11-29T11:34:49.607445+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('f3528b80d728157748904affdf9b9b1d', '73c511c2fdd6ec6d450171ae50120dc2', '3f25ef1604b8dba9121f69860827a4ae', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 5 tells of lighthouse 5.', 'Item 5 tells of lighthouse 5.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "73c511c2fdd6ec6d450171ae50120dc2", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i5.txt", "upload_date": "2026-11-29T11:34:49.614006+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('46089ed43662877793c36320a5bf07cd', 'f89e09d5c2782ee9302c185aa328c12e', 'c8e86f82e17e2180cfebe558b2805681', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 6 tells of lighthouse 6.', 'Item 6 tells of lighthouse 6.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "f89e09d5c2782ee9302c185aa328c12e", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i6.txt", "upload_date": "2026-11-29T11:34:49.628866+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('e69327dc843fd8633f7c2281bb382872', '05bea389ad95fd6f6d4f8351f95cdc08', '29495e7f8c89c4351b2004fa36b71e15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 7 tells of lighthouse 7.', 'Item 7 tells of lighthouse 7.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "05bea389ad95fd6f6d4f8351f95cdc08", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i7.txt", "upload_date": "2026-11-29T11:34:49.637209+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('c170bce51094c8382a2c283ad08acbbc', '77a5acbfe5319292ae0b1b1cb0cd2025', '9d6fca96480d7b27bf17ed5b3237ea77', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '5b97646845386c0c', 0, 'Item 8 tells of lighthouse 8.', 'Item 8 tells of lighthouse 8.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "77a5acbfe5319292ae0b1b1cb0cd2025", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i8.txt", "upload_date": "2026-11-29T11:34:49.661866+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]');


--
-- Data for Name: document_principals; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: document_usage; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: embeddings_1; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.embeddings_1 VALUES
	(1, '32dd132f02dc85417ecc9165c93e66ca', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '86c66f863decfbdd17cc019b8c1fda07', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '7a514dceba1c1d9a0f0b5c00301d7af1', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '190384634fdc99f96522d46c83cf9a3f', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '90ab2c15309acdfaabc038d5569b20fe', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '309682a39301a08668aee9fb312031e1', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'eb25a573a18cb6a4d8ac2b4998b42ff0', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '67fa50c8d6dcbdc486d5269f6112c0bd', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'ce5b51289ed38218afbeaada63e51d4e', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'e60c813decaa899259687ec37c490fb1', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'e0eb23dd1bcc28c99a9120c6ad086730', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '146a2e72730a34456de9e26ef323dff0', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '83363770a7a709d3acdf4f9433a9ae2e', '3aa9f493923556e7032a5b0c3d056850', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '07d46482a3fa8cd05d2ec36e2af25a79', 'd9e2862732b04f8101959dab8c028d21', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '7b8fc6df3d525b0432cdee0edc66c7d9', '6ba7edda86d4e8bd5a7d43ed9541bc7e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '834ebc9c9a3c7255e71e3f5b3f974c5c', '41992443bf225b6577322c4df6ee2f42', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '6de09396b030fb088e178e7a44a6dc00', '1aa37808d47de17834ce1f44cbdbba15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'f3528b80d728157748904affdf9b9b1d', '73c511c2fdd6ec6d450171ae50120dc2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '46089ed43662877793c36320a5bf07cd', 'f89e09d5c2782ee9302c185aa328c12e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'e69327dc843fd8633f7c2281bb382872', '05bea389ad95fd6f6d4f8351f95cdc08', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'c170bce51094c8382a2c283ad08acbbc', '77a5acbfe5319292ae0b1b1cb0cd2025', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]');


--
-- Data for Name: entities; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: entity_mentions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: episodes; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: erasures; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: event_receipts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: event_streams; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.event_streams VALUES
	('job:5fa17abf-07eb-4a07-824f-1f16e73ac328', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 3),
	('job:5f1df3cf-4d84-4cbc-b9da-046a61259470', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 1),
	('job:b918f18e-9b43-43b2-8148-f47bd16e629c', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 3),
	('run:b2b5de64-78a3-47ed-b774-e88172906f84', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 4),
	('run:3c0c8279-0b44-4a33-9907-6856cab112dd', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 4),
	('run:9233ee10-4bca-4283-9ce0-f8b519502cf0', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 4);


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.events VALUES
	('job:5fa17abf-07eb-4a07-824f-1f16e73ac328', 1, 'queued', '{"kind": "upload"}', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '2026-11-29 11:34:44.129431+00'),
	('job:5fa17abf-07eb-4a07-824f-1f16e73ac328', 2, 'progress', '{"read": {"done": 48, "failed": 0, "expected": 48, "unchanged": 0}, "index": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "survey": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 12, "unchanged": 0, "pages_with_caveats": 0}}', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '2026-11-29 11:34:45.538887+00'),
	('job:5fa17abf-07eb-4a07-824f-1f16e73ac328', 3, 'completed', '{"read": {"done": 48, "failed": 0, "expected": 48, "unchanged": 0}, "index": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "survey": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 12, "unchanged": 0, "pages_with_caveats": 0}}', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '2026-11-29 11:34:45.545732+00'),
	('job:5f1df3cf-4d84-4cbc-b9da-046a61259470', 1, 'queued', '{"kind": "upload"}', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', '2026-11-29 11:34:45.558417+00'),
	('job:b918f18e-9b43-43b2-8148-f47bd16e629c', 1, 'queued', '{"kind": "sync"}', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '2026-11-29 11:34:49.558107+00'),
	('job:b918f18e-9b43-43b2-8148-f47bd16e629c', 2, 'progress', '{"read": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "fetch": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "index": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "survey": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 9, "unchanged": 0, "pages_with_caveats": 0}}', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '2026-11-29 11:34:50.000143+00'),
	('job:b918f18e-9b43-43b2-8148-f47bd16e629c', 3, 'completed', '{"read": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "fetch": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "index": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "survey": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 9, "unchanged": 0, "pages_with_caveats": 0}}', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', '2026-11-29 11:34:50.006806+00'),
	('run:b2b5de64-78a3-47ed-b774-e88172906f84', 1, 'status', '{"state": "accepted", "run_id": "b2b5de64-78a3-47ed-b774-e88172906f84", "agent_id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "session_id": "658b6549-9960-4308-a67a-73a3126a4c3a"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.082632+00'),
	('run:b2b5de64-78a3-47ed-b774-e88172906f84', 2, 'status', '{"state": "thinking"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.08267+00'),
	('run:b2b5de64-78a3-47ed-b774-e88172906f84', 3, 'status', '{"state": "waiting_approval"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.085305+00'),
	('run:b2b5de64-78a3-47ed-b774-e88172906f84', 4, 'approval_required', '{"approval": {"id": "b6774d37-061d-5e4a-a0e5-7c1ca311e38b", "tool": "act", "digest": "ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7", "reason": "it changes things", "category": "approval", "arguments": {"to": "b"}, "expires_at": "2026-11-30T11:34:50.083333+00:00"}}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.085322+00'),
	('run:3c0c8279-0b44-4a33-9907-6856cab112dd', 1, 'status', '{"state": "accepted", "run_id": "3c0c8279-0b44-4a33-9907-6856cab112dd", "agent_id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "session_id": "658b6549-9960-4308-a67a-73a3126a4c3a"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.094054+00'),
	('run:3c0c8279-0b44-4a33-9907-6856cab112dd', 2, 'status', '{"state": "thinking"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.094075+00'),
	('run:3c0c8279-0b44-4a33-9907-6856cab112dd', 3, 'status', '{"state": "waiting_approval"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.096762+00'),
	('run:3c0c8279-0b44-4a33-9907-6856cab112dd', 4, 'approval_required', '{"approval": {"id": "99121383-cc33-5104-8f4a-a588621d0924", "tool": "act", "digest": "68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd", "reason": "it changes things", "category": "approval", "arguments": {"to": "c"}, "expires_at": "2026-11-30T11:34:50.094739+00:00"}}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.096784+00'),
	('run:9233ee10-4bca-4283-9ce0-f8b519502cf0', 1, 'status', '{"state": "accepted", "run_id": "9233ee10-4bca-4283-9ce0-f8b519502cf0", "agent_id": "ebae877e-1808-4cc9-8e81-9e4b85d5b541", "session_id": "658b6549-9960-4308-a67a-73a3126a4c3a"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.104605+00'),
	('run:9233ee10-4bca-4283-9ce0-f8b519502cf0', 2, 'status', '{"state": "thinking"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.104625+00'),
	('run:9233ee10-4bca-4283-9ce0-f8b519502cf0', 3, 'status', '{"state": "waiting_approval"}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.107584+00'),
	('run:9233ee10-4bca-4283-9ce0-f8b519502cf0', 4, 'approval_required', '{"approval": {"id": "915286ac-022c-508c-be3d-0f05d5b52578", "tool": "act", "digest": "93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52", "reason": "it changes things", "category": "approval", "arguments": {"to": "d"}, "expires_at": "2026-11-30T11:34:50.105246+00:00"}}', '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', '2026-11-29 11:34:50.107604+00');


--
-- Data for Name: external_accounts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: extraction_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: extraction_fields; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: facts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: folder_readers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: freed_blobs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: generations; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.generations OVERRIDING SYSTEM VALUE VALUES
	(1, 'letters', 26, '5b97646845386c0c', '19caff5d231e50f6', 1, '2026-11-29 11:34:44.1413+00', 'letters');


--
-- Data for Name: generation_builds; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_sets; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_questions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_results; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: governance_policies; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: graph_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: groups; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: group_members; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: index_faults; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: indexed_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.indexed_versions VALUES
	(1, 'f30aca1897124c0b3520e2c52d2ac170', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '839e9b1a91d19bd39f72701e33376c76', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '1bf09bace0b2279a41c7a5f39e4114a8', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '9612f5ff8d9cdde1635fa4aba5d369b2', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '53c8e087a3c040ef734e088de5d5b61a', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '2d8b32bd76bcc96253d0aafe2e860fba', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, 'fd63ecb1bbdd290733e6c2a67b10c848', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, 'c691cef61176613fa515f04e8c80a7b4', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, '59e14936d5c2e6a54155e27ceb4125b0', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, 'ef2e7acbc3100b5b922635923a40eede', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, 'bdd3ea87cd08ea137d59abbe629bdf82', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, 1, true),
	(1, 'aeed98d6dd2b53bd0999a47e0b28966d', '3aa9f493923556e7032a5b0c3d056850', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '71f065a67efbfc7aebdbed370d07a7da', 'd9e2862732b04f8101959dab8c028d21', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '2979379304e0a65ccec741692f49e45f', '6ba7edda86d4e8bd5a7d43ed9541bc7e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, 'fc0a01e84b0efd0b7808c04b73fe49f6', '41992443bf225b6577322c4df6ee2f42', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '295a576c68ccdc1f43af5aba9f135f06', '1aa37808d47de17834ce1f44cbdbba15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '3f25ef1604b8dba9121f69860827a4ae', '73c511c2fdd6ec6d450171ae50120dc2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, 'c8e86f82e17e2180cfebe558b2805681', 'f89e09d5c2782ee9302c185aa328c12e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '29495e7f8c89c4351b2004fa36b71e15', '05bea389ad95fd6f6d4f8351f95cdc08', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true),
	(1, '9d6fca96480d7b27bf17ed5b3237ea77', '77a5acbfe5319292ae0b1b1cb0cd2025', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 1, 1, true);


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.jobs VALUES
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload', 'bulk', 'completed', 'run', '{"files": [{"origin": "upload:0.txt", "filename": "0.txt", "location": "file:@FOLDER@/0.txt"}, {"origin": "upload:1.txt", "filename": "1.txt", "location": "file:@FOLDER@/1.txt"}, {"origin": "upload:2.txt", "filename": "2.txt", "location": "file:@FOLDER@/2.txt"}, {"origin": "upload:3.txt", "filename": "3.txt", "location": "file:@FOLDER@/3.txt"}, {"origin": "upload:4.txt", "filename": "4.txt", "location": "file:@FOLDER@/4.txt"}, {"origin": "upload:5.txt", "filename": "5.txt", "location": "file:@FOLDER@/5.txt"}, {"origin": "upload:6.txt", "filename": "6.txt", "location": "file:@FOLDER@/6.txt"}, {"origin": "upload:7.txt", "filename": "7.txt", "location": "file:@FOLDER@/7.txt"}, {"origin": "upload:8.txt", "filename": "8.txt", "location": "file:@FOLDER@/8.txt"}, {"origin": "upload:9.txt", "filename": "9.txt", "location": "file:@FOLDER@/9.txt"}, {"origin": "upload:10.txt", "filename": "10.txt", "location": "file:@FOLDER@/10.txt"}, {"origin": "upload:11.txt", "filename": "11.txt", "location": "file:@FOLDER@/11.txt"}]}', NULL, '6b57c124ce4edea0f7cee255dc78e5a4f2a800e09a4e47136c649bf8675ed01a', NULL, NULL, 1, NULL, false, 1, 0, NULL, '2026-11-29 11:34:44.11412+00', '2026-11-29 11:34:44.132106+00', '2026-11-29 11:34:45.544459+00', 0, -1, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'upload', 'small', 'running', 'run', '{"files": [{"origin": "upload:12.txt", "filename": "12.txt", "location": "file:@FOLDER@/12.txt"}, {"origin": "upload:13.txt", "filename": "13.txt", "location": "file:@FOLDER@/13.txt"}, {"origin": "upload:14.txt", "filename": "14.txt", "location": "file:@FOLDER@/14.txt"}, {"origin": "upload:15.txt", "filename": "15.txt", "location": "file:@FOLDER@/15.txt"}, {"origin": "upload:16.txt", "filename": "16.txt", "location": "file:@FOLDER@/16.txt"}, {"origin": "upload:17.txt", "filename": "17.txt", "location": "file:@FOLDER@/17.txt"}]}', NULL, '43a1057c33c501c4eeced15c29c756ddb4f41179bc6ffd63eaf5836b05a68753', NULL, 'worker-1', 1, '2026-11-29 11:35:45.560267+00', false, 1, 0, NULL, '2026-11-29 11:34:45.552431+00', '2026-11-29 11:34:45.560268+00', NULL, 0, -1, NULL, NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'sync', 'small', 'completed', 'run', '{"plan": {"at": "2026-11-29T11:34:49.565067+00:00", "job": "b918f18e-9b43-43b2-8148-f47bd16e629c", "counts": {"held": 0, "added": 9, "moved": 0, "faults": 0, "listed": 9, "passed": 0, "rights": 0, "changed": 0, "removed": 0, "waiting": 0, "excluded": 0, "returned": 0, "unchanged": 0}, "reason": null, "dry_run": false, "samples": {"added": ["i0.txt", "i1.txt", "i2.txt", "i3.txt", "i4.txt", "i5.txt", "i6.txt", "i7.txt", "i8.txt"]}}, "cursor": "0", "source": "a795b9a2-dc24-4aae-97cd-88f9cf2b3c91", "refresh": true, "listed_at": "2026-11-29T11:34:49.565067+00:00"}', NULL, '3228e6aba34af2793e48664257d859bb7e326d7a9f4ad9a4205008cd1235f4e5', NULL, NULL, 1, NULL, false, 1, 0, NULL, '2026-11-29 11:34:49.55603+00', '2026-11-29 11:34:49.560277+00', '2026-11-29 11:34:50.005692+00', 0, -1, NULL, NULL, NULL),
	('aec7fc37-1448-491b-a7d8-107ca68e36e7', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:50.176295+00', NULL, NULL, 0, -1, NULL, NULL, NULL),
	('e5eaf17a-3af8-4a07-b45d-8ea1234d7e19', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:50.186371+00', NULL, NULL, 0, -1, NULL, NULL, NULL),
	('b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:50.187219+00', NULL, NULL, 0, -1, NULL, NULL, NULL),
	('b690a98e-6cf0-4cfa-83bc-345cadd03b11', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:50.187886+00', NULL, NULL, 0, -1, NULL, NULL, NULL),
	('fe7c5599-bb88-46c4-858e-99f82c5d6469', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:50.18853+00', NULL, NULL, 0, -1, NULL, NULL, NULL);


--
-- Data for Name: job_progress; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.job_progress VALUES
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 9, 9, 0, 0, 0, 0, 0),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 9, 9, 0, 0, 0, 0, 0),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 6, 0, 0, 0, 0, 0, 0),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 6, 6, 0, 0, 0, 0, 0),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 9, 9, 0, 0, 0, 0, 0),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 48, 48, 0, 0, 0, 0, 0),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 12, 12, 0, 0, 0, 0, 0),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 24, 22, 0, 0, 0, 0, 0),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 12, 12, 0, 0, 0, 0, 0),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 9, 9, 0, 0, 0, 0, 0);


--
-- Data for Name: keyword_index_made; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.keyword_index_made VALUES
	('2026-11-29 11:34:41.749051+00');


--
-- Data for Name: lane_workers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: legal_holds; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: llm_connections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: memberships; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.memberships VALUES
	('dfa5f000-c121-4103-b088-57ec0000dbb3', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'viewer', NULL),
	('af1629ea-2492-4fbe-9033-fbfef4cd1bbc', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'developer', NULL),
	('10a99365-5938-4f3b-b127-eac50367ce73', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'operator', NULL),
	('390c8169-f367-44d2-b4c1-8fc43c00a78a', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'c164ee10-19b2-4a02-a686-6201039ba9ca', 'admin', NULL);


--
-- Data for Name: messages; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: oauth_attempts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: oauth_connections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES
	(1, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "aec7fc37-1448-491b-a7d8-107ca68e36e7", "created_by": null}', '2026-11-29 11:34:50.184649+00', 'fb25b148-83b5-4d54-9d1b-e6903a30671d', 'job:aec7fc37-1448-491b-a7d8-107ca68e36e7', '{}'),
	(2, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "e5eaf17a-3af8-4a07-b45d-8ea1234d7e19", "created_by": null}', '2026-11-29 11:34:50.186686+00', 'cae544bf-ef15-4d2e-81dd-e8c103a9040a', 'job:e5eaf17a-3af8-4a07-b45d-8ea1234d7e19', '{}'),
	(3, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6", "created_by": null}', '2026-11-29 11:34:50.187457+00', 'cbfd6c2f-60b5-40b9-a35a-96dc21550f65', 'job:b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6', '{}'),
	(4, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "b690a98e-6cf0-4cfa-83bc-345cadd03b11", "created_by": null}', '2026-11-29 11:34:50.1881+00', 'c694dcb1-9078-4d34-ab3e-3e691856a0e2', 'job:b690a98e-6cf0-4cfa-83bc-345cadd03b11', '{}'),
	(5, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "fe7c5599-bb88-46c4-858e-99f82c5d6469", "created_by": null}', '2026-11-29 11:34:50.188739+00', '82229709-4938-407c-b381-a99fb051d038', 'job:fe7c5599-bb88-46c4-858e-99f82c5d6469', '{}'),
	(6, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "aec7fc37-1448-491b-a7d8-107ca68e36e7", "created_by": null}', '2026-11-29 11:34:50.191693+00', '5d6b3535-dd16-40f4-b181-d49bf23bbded', 'job:aec7fc37-1448-491b-a7d8-107ca68e36e7', '{}'),
	(7, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "e5eaf17a-3af8-4a07-b45d-8ea1234d7e19", "created_by": null}', '2026-11-29 11:34:50.192345+00', '04a8aba8-89f0-47f0-a92a-35dee920e25f', 'job:e5eaf17a-3af8-4a07-b45d-8ea1234d7e19', '{}'),
	(8, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6", "created_by": null}', '2026-11-29 11:34:50.192858+00', '0ed5c7ba-eed7-4e20-8d47-f3393c66b6ec', 'job:b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6', '{}'),
	(9, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "b690a98e-6cf0-4cfa-83bc-345cadd03b11", "created_by": null}', '2026-11-29 11:34:50.193354+00', 'e64d669a-e319-4fa7-9e8a-5851de829cb0', 'job:b690a98e-6cf0-4cfa-83bc-345cadd03b11', '{}'),
	(10, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "fe7c5599-bb88-46c4-858e-99f82c5d6469", "created_by": null}', '2026-11-29 11:34:50.193843+00', '0f018e0d-174f-470f-b9df-7a3f7c727b4e', 'job:fe7c5599-bb88-46c4-858e-99f82c5d6469', '{}');


--
-- Data for Name: page_corrections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: page_tables; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: pages; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.pages VALUES
	('f30aca1897124c0b3520e2c52d2ac170', 1, '3c2c90d0fc4fbdc257396fc16d936a27', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 0 page 1 tells of harbour 1.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.322688+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f30aca1897124c0b3520e2c52d2ac170', 2, '8b638bb567d22fa179c4dea370e8abac', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 0 page 2 tells of harbour 2.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.330752+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f30aca1897124c0b3520e2c52d2ac170', 3, '52a42e3873ba54ad789464ebd3c87518', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 0 page 3 tells of harbour 3.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.337791+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f30aca1897124c0b3520e2c52d2ac170', 4, '15a6cc35dae0768a6ec8da4ec87e2558', 'c563f6526c09f300f3761030fbd9f975', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 0 page 4 tells of harbour 4.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.343707+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('839e9b1a91d19bd39f72701e33376c76', 1, 'd19d302f6d70026553c2a7365dbd9172', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 1 page 1 tells of harbour 11.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.350104+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('839e9b1a91d19bd39f72701e33376c76', 2, '7fd3a940435910b826105ce39c32e83f', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 1 page 2 tells of harbour 12.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.360143+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('839e9b1a91d19bd39f72701e33376c76', 3, '7409ad035aec116929978f8109154b37', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 1 page 3 tells of harbour 13.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.370574+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('839e9b1a91d19bd39f72701e33376c76', 4, '43510e04347db7ba3bede50608b170d6', 'ce9df7ad84b8a51f10d0e70db455dff9', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 1 page 4 tells of harbour 14.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.377241+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1bf09bace0b2279a41c7a5f39e4114a8', 1, '173b1b742f7b4f1f25d27c1d1c23bffe', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 2 page 1 tells of harbour 21.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.384509+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1bf09bace0b2279a41c7a5f39e4114a8', 2, '76ade6411deb087e4706ff9ad7bf86a5', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 2 page 2 tells of harbour 22.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.391525+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1bf09bace0b2279a41c7a5f39e4114a8', 3, '895b98fbff44e0d16e64d1763a160b91', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 2 page 3 tells of harbour 23.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.398383+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1bf09bace0b2279a41c7a5f39e4114a8', 4, '3e46fb27acfc83a888b020838d719aca', '4b1d0e3eeaf9b512e226146f75b16dea', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 2 page 4 tells of harbour 24.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.405392+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9612f5ff8d9cdde1635fa4aba5d369b2', 1, '893d6d9a444766f78e7d6547175cbfdb', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 3 page 1 tells of harbour 31.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.409924+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9612f5ff8d9cdde1635fa4aba5d369b2', 2, '7af4414b4a99edce961ac2f706e8c44b', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 3 page 2 tells of harbour 32.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.418284+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9612f5ff8d9cdde1635fa4aba5d369b2', 3, '173870a258068263544e88c10a4df48f', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 3 page 3 tells of harbour 33.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.422434+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9612f5ff8d9cdde1635fa4aba5d369b2', 4, '55e61fcbaaa3eb00cbd300504015c565', '957aaeb2af30905bc9f366754a197703', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 3 page 4 tells of harbour 34.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.427198+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('53c8e087a3c040ef734e088de5d5b61a', 1, 'a0ad69df824cd2a628d2687a19d90ef0', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 4 page 1 tells of harbour 41.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.43181+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('53c8e087a3c040ef734e088de5d5b61a', 2, '74d273b2f8052ef31619c5a520b8778b', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 4 page 2 tells of harbour 42.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.436749+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('53c8e087a3c040ef734e088de5d5b61a', 3, 'fa335ceca2c2cf2c1e4c897f5cfc199d', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 4 page 3 tells of harbour 43.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.441641+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('53c8e087a3c040ef734e088de5d5b61a', 4, '2b06c60097bd26293c1bd7347f92ef76', '99d5fcb315ea6b26d0329aa7bdf9beff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 4 page 4 tells of harbour 44.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.446022+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7bcf0e1e75a6e1f6c03e16bb4b88e81e', 1, '0ffeaaa1509185204c8688dc3700aea6', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 5 page 1 tells of harbour 51.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.454955+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7bcf0e1e75a6e1f6c03e16bb4b88e81e', 2, '0165c5ef03b7596c841b482c3b479c20', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 5 page 2 tells of harbour 52.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.459839+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7bcf0e1e75a6e1f6c03e16bb4b88e81e', 3, '10e82485e693e478f5dec367f99debde', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 5 page 3 tells of harbour 53.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.464179+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7bcf0e1e75a6e1f6c03e16bb4b88e81e', 4, '0c48f432fad768f0775a0ffcd2f28994', 'fc691c8087e6e53206f9f2f27c86d5fc', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 5 page 4 tells of harbour 54.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.468503+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2d8b32bd76bcc96253d0aafe2e860fba', 1, '608cd3216ea4fc6792931643fc951807', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 6 page 1 tells of harbour 61.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.473129+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2d8b32bd76bcc96253d0aafe2e860fba', 2, '620c847e3d2b69cd17f277f3e99722ce', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 6 page 2 tells of harbour 62.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.47744+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2d8b32bd76bcc96253d0aafe2e860fba', 3, '226e7c5346272657046ed69c1ca0731b', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 6 page 3 tells of harbour 63.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.481749+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2d8b32bd76bcc96253d0aafe2e860fba', 4, 'b3bc7ae4ff4ae31c3fc21918f8c19ba4', 'ae1fd2778e54c7b5e7aaa0e04ff2400e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 6 page 4 tells of harbour 64.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.486216+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('fd63ecb1bbdd290733e6c2a67b10c848', 1, '075a88ffa68e95f86e4c9296fca846d5', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 7 page 1 tells of harbour 71.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.491164+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('fd63ecb1bbdd290733e6c2a67b10c848', 2, '9c0c6abfa29958e75684876b3da6ceb2', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 7 page 2 tells of harbour 72.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.495153+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('fd63ecb1bbdd290733e6c2a67b10c848', 3, '1b442be1087d9e1f7c41e6f7f0e0383c', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 7 page 3 tells of harbour 73.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.499374+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('fd63ecb1bbdd290733e6c2a67b10c848', 4, 'c2b15746772b721707c848c8231baeab', 'c02cb0cd11ca4652ef6efdc611ebb6ff', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 7 page 4 tells of harbour 74.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.504174+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c691cef61176613fa515f04e8c80a7b4', 1, '9758560010e436528f2ff04a441cbdc0', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 8 page 1 tells of harbour 81.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.509047+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c691cef61176613fa515f04e8c80a7b4', 2, 'de98e0464a654ad7ea38be0780dd6865', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 8 page 2 tells of harbour 82.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.512866+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c691cef61176613fa515f04e8c80a7b4', 3, 'f716d219bcbb8c14d13fab5c76c7f261', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 8 page 3 tells of harbour 83.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.517292+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c691cef61176613fa515f04e8c80a7b4', 4, '7648ef7a09a80ef951cca9668d7aa6a2', '4f1c7357eda999bd87dc2353b40af427', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 8 page 4 tells of harbour 84.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.520996+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('59e14936d5c2e6a54155e27ceb4125b0', 1, '5a779e4075e68bf43639da24f221b8df', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 9 page 1 tells of harbour 91.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.525713+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('59e14936d5c2e6a54155e27ceb4125b0', 2, 'f06aadaf511ea1f56cee73c07c27f912', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 9 page 2 tells of harbour 92.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.529373+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('59e14936d5c2e6a54155e27ceb4125b0', 3, '76b9cb9391cb806cc02989644dccb13c', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 9 page 3 tells of harbour 93.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.533871+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('59e14936d5c2e6a54155e27ceb4125b0', 4, 'd2fdc22660e49db9ea6686dd96f21ca0', '3ef05118d1435a153fbf5a0de2382846', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 9 page 4 tells of harbour 94.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.53852+00', '[]', NULL, 0, NULL, NULL, NULL, NULL);
INSERT INTO public.pages VALUES
	('ef2e7acbc3100b5b922635923a40eede', 1, '34014310d6018011667b1d8fc356b1ca', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 10 page 1 tells of harbour 101.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.542983+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('ef2e7acbc3100b5b922635923a40eede', 2, 'bd2f1e2daafb06ba7ca7bca093cb00f8', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 10 page 2 tells of harbour 102.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.547418+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('ef2e7acbc3100b5b922635923a40eede', 3, '20e453327eb2cf34b69c140b29f5a6c3', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 10 page 3 tells of harbour 103.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.551563+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('ef2e7acbc3100b5b922635923a40eede', 4, '806b9859da7da244baccab85b5add496', 'adf4c7be9333d7af3c2a60478182a1f3', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 10 page 4 tells of harbour 104.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.555848+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bdd3ea87cd08ea137d59abbe629bdf82', 1, '849ee59bd8955142bada849a17465ec4', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 11 page 1 tells of harbour 111.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.560159+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bdd3ea87cd08ea137d59abbe629bdf82', 2, '2b2a9797a250656eee84eb5a9d724099', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 11 page 2 tells of harbour 112.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.564765+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bdd3ea87cd08ea137d59abbe629bdf82', 3, '5ba0bc3430bae2e131e8133143282524', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 11 page 3 tells of harbour 113.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.569351+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bdd3ea87cd08ea137d59abbe629bdf82', 4, '5e2eb82593173e05191899323afdbfc8', 'a96fdfe27795231811847da652c17fd5', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 11 page 4 tells of harbour 114.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:44.574215+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('07729d73975113cce6ad2026e56abfda', 1, '54f9ca57f90998ef6ca3fef1b20bbb6b', 'ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 12 page 1 tells of harbour 121.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.638262+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('07729d73975113cce6ad2026e56abfda', 2, '74e03dfaa9a758d7d8e4fdf02a7944d2', 'ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 12 page 2 tells of harbour 122.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.643642+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('07729d73975113cce6ad2026e56abfda', 3, '9012c35ece2bccf1f12cb248cf675d24', 'ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 12 page 3 tells of harbour 123.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.648742+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('07729d73975113cce6ad2026e56abfda', 4, '91e7e4e937b220589d9ccf06dacb4b0d', 'ebb41d733855e02a1ee5151f7e3dfec1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 12 page 4 tells of harbour 124.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.654055+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f77da0385d5c3b8d556146ef9021a9a1', 1, '0996c4f35bb8b4166fc245603e51207a', 'f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 13 page 1 tells of harbour 131.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.659728+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f77da0385d5c3b8d556146ef9021a9a1', 2, '7a8ff590590f049c383315f43e3ebc0b', 'f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 13 page 2 tells of harbour 132.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.665365+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f77da0385d5c3b8d556146ef9021a9a1', 3, '844b78226cf46e26580117eec525d3c5', 'f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 13 page 3 tells of harbour 133.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.670047+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f77da0385d5c3b8d556146ef9021a9a1', 4, 'e0322a9028b3fff09fb1445d35ff90d1', 'f3727f5332839776373e79a6cfaffe64', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 13 page 4 tells of harbour 134.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.674927+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('70174ef333cbfb9f6e4df51d21926bee', 1, '4108e7de1fcc503814e50653c2c808cf', '5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 14 page 1 tells of harbour 141.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.680253+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('70174ef333cbfb9f6e4df51d21926bee', 2, 'd68bf6b6c06f65d38266cd64e3bf9b0f', '5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 14 page 2 tells of harbour 142.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.685238+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('70174ef333cbfb9f6e4df51d21926bee', 3, '06c564fc1b0ad72beab9f05cb74ef956', '5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 14 page 3 tells of harbour 143.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.690021+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('70174ef333cbfb9f6e4df51d21926bee', 4, '2f51a2630f8c5b5ad6f25a2bd8a63cf5', '5879a0b876601c49e1e8cb698358dbbe', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 14 page 4 tells of harbour 144.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.694753+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('e9c72d0d15df2a758ad12f78dc28ef12', 1, 'e20bf7f74f0f3ef709018a715a4ce718', '63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 15 page 1 tells of harbour 151.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.699263+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('e9c72d0d15df2a758ad12f78dc28ef12', 2, '822a6afffe2fb489df656e92d8409737', '63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 15 page 2 tells of harbour 152.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.703998+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('e9c72d0d15df2a758ad12f78dc28ef12', 3, 'c9ffa828d64fc1066aa5643a78177dcc', '63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 15 page 3 tells of harbour 153.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.708366+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('e9c72d0d15df2a758ad12f78dc28ef12', 4, '919765da0dd885401b1f5e684af00412', '63bdc04ed20d05896fd13d9353f6fc2a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 15 page 4 tells of harbour 154.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.713043+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e9b940dcceb208936d44ad0a2cc893a', 1, '5d258af7d213939f50078bfd4e803d85', 'e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 16 page 1 tells of harbour 161.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.718035+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e9b940dcceb208936d44ad0a2cc893a', 2, '5644a8c4a3eb6c79b87d1fb07756f13d', 'e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 16 page 2 tells of harbour 162.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.723316+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e9b940dcceb208936d44ad0a2cc893a', 3, 'ae7a8e740df9b40b371ac97e97faf587', 'e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 16 page 3 tells of harbour 163.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.727738+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e9b940dcceb208936d44ad0a2cc893a', 4, '6f048b524b62361d3a976a55a8e0e4f4', 'e450808bea86e4003ea0aa7ea3f392ae', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 16 page 4 tells of harbour 164.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.732438+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('589da09ddc6249f922cb4f7a00ddf2e7', 1, 'bc5fc7da57112fe20f937b57f1e77f4f', '01026b75433390028e82e1d969fee9a6', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 17 page 1 tells of harbour 171.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.737014+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('589da09ddc6249f922cb4f7a00ddf2e7', 2, 'aebd6f84d6b4f01b36ffcecdaca53834', '01026b75433390028e82e1d969fee9a6', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'Book 17 page 2 tells of harbour 172.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:45.741509+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('aeed98d6dd2b53bd0999a47e0b28966d', 1, 'ac45762e847a7ab4e7762b54e555fd8e', '3aa9f493923556e7032a5b0c3d056850', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 1 tells of lighthouse 1.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.816614+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('71f065a67efbfc7aebdbed370d07a7da', 1, '7cd983be07cf9752e193796f17b7d921', 'd9e2862732b04f8101959dab8c028d21', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 2 tells of lighthouse 2.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.824232+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2979379304e0a65ccec741692f49e45f', 1, '065f31a9f1873f122a0c13ef0b54d9fd', '6ba7edda86d4e8bd5a7d43ed9541bc7e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 3 tells of lighthouse 3.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.830389+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('fc0a01e84b0efd0b7808c04b73fe49f6', 1, '20a4590e155fa75ee282bd0a4fb0473f', '41992443bf225b6577322c4df6ee2f42', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 4 tells of lighthouse 4.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.838005+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('295a576c68ccdc1f43af5aba9f135f06', 1, 'd3c6392c90b647d6427bf508e4d5adeb', '1aa37808d47de17834ce1f44cbdbba15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 0 tells of lighthouse 0.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.843939+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('3f25ef1604b8dba9121f69860827a4ae', 1, 'a57b95c0aeda82ad6136f972d9eaea56', '73c511c2fdd6ec6d450171ae50120dc2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 5 tells of lighthouse 5.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.849479+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c8e86f82e17e2180cfebe558b2805681', 1, 'bc2368c9335793af6c16b3a1e6b19a7d', 'f89e09d5c2782ee9302c185aa328c12e', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 6 tells of lighthouse 6.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.856918+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('29495e7f8c89c4351b2004fa36b71e15', 1, '081cb8554c8c5747389929b7db7d1a9a', '05bea389ad95fd6f6d4f8351f95cdc08', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 7 tells of lighthouse 7.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.862004+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9d6fca96480d7b27bf17ed5b3237ea77', 1, '129214bf5859e6e6cbbb23838cf3cac3', '77a5acbfe5319292ae0b1b1cb0cd2025', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'Item 8 tells of lighthouse 8.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:49.867045+00', '[]', NULL, 0, NULL, NULL, NULL, NULL);


--
-- Data for Name: provider_logouts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: provider_sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: rate_limits; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: refresh_tokens; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: relations; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: relation_evidence; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: resource_usage; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.resource_usage VALUES
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'pages', 'minute', '2026-11-29 11:34:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'pages', 'hour', '2026-11-29 11:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'pages', 'day', '2026-11-29 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 'pages', 'month', '2026-11-01 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'pages', 'minute', '2026-11-29 11:34:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'pages', 'hour', '2026-11-29 11:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'pages', 'day', '2026-11-29 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'pages', 'month', '2026-11-01 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9);


--
-- Data for Name: restart_needs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: restarts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: retention_rules; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: retention_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_feedback; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_secrets; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_steps; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.run_steps VALUES
	('b2b5de64-78a3-47ed-b774-e88172906f84', 1, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "b"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', 'eb28b7c7a4b1d5cd19065dae97e9698ada1e4814e21fecfed6fb15f0e64b293a', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:50.080791+00'),
	('b2b5de64-78a3-47ed-b774-e88172906f84', 2, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "b"}}', '952c00c33c2f3d14ab47c50720f0f4a0dd276647e0128e25502fd3e5134175dd', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "b6774d37-061d-5e4a-a0e5-7c1ca311e38b", "tool": "act", "digest": "ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7", "reason": "it changes things", "category": "approval", "arguments": {"to": "b"}, "expires_at": "2026-11-30T11:34:50.083333+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:50.084342+00'),
	('3c0c8279-0b44-4a33-9907-6856cab112dd', 1, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "c"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', '7308c65f49d17349dbb877229c7498af7c4c5dc1394696422625e27c6294694a', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:50.092806+00'),
	('3c0c8279-0b44-4a33-9907-6856cab112dd', 2, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "c"}}', 'ce17bce30b88a344930058d46798a12717a6e7d33674108fd935125777ca03fc', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "99121383-cc33-5104-8f4a-a588621d0924", "tool": "act", "digest": "68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd", "reason": "it changes things", "category": "approval", "arguments": {"to": "c"}, "expires_at": "2026-11-30T11:34:50.094739+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:50.09572+00'),
	('9233ee10-4bca-4283-9ce0-f8b519502cf0', 1, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "d"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', '94fe8de0b97530b1dd85789c784d4910a7b76158a59990b48e3abce65764ca60', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:50.10325+00'),
	('9233ee10-4bca-4283-9ce0-f8b519502cf0', 2, '1278ee73-1672-450d-a651-b01c66344b74', '83415d6d-beaf-4a84-899a-b0c3c3411074', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "d"}}', '582b5b9053c90d67f774c8a8979a6a2ac0bc70e88d9520899bf9de24b9365f54', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "915286ac-022c-508c-be3d-0f05d5b52578", "tool": "act", "digest": "93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52", "reason": "it changes things", "category": "approval", "arguments": {"to": "d"}, "expires_at": "2026-11-30T11:34:50.105246+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:50.106438+00');


--
-- Data for Name: schedules; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: schedule_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: scim_people; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: session_summaries; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: settings_version; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.settings_version VALUES
	(true, 1);


--
-- Data for Name: sign_in_handoffs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: skills; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: sources; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.sources VALUES
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'one', 'shelf', '{}', NULL, '{}', '{}', false, NULL, 20, NULL, 72, true, '0', 'b918f18e-9b43-43b2-8148-f47bd16e629c', NULL, '{"at": "2026-11-29T11:34:49.565067+00:00", "job": "b918f18e-9b43-43b2-8148-f47bd16e629c", "counts": {"held": 0, "added": 9, "moved": 0, "faults": 0, "listed": 9, "passed": 0, "rights": 0, "changed": 0, "removed": 0, "waiting": 0, "excluded": 0, "returned": 0, "unchanged": 0}, "reason": null, "dry_run": false, "samples": {"added": ["i0.txt", "i1.txt", "i2.txt", "i3.txt", "i4.txt", "i5.txt", "i6.txt", "i7.txt", "i8.txt"]}}', NULL, '2026-11-29 11:34:49.565067+00', NULL, NULL, NULL, '2026-11-29 11:34:49.554563+00', false, '{}', NULL, NULL, NULL);


--
-- Data for Name: source_items; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.source_items VALUES
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i1', 'i1.txt', '1', NULL, '3aa9f493923556e7032a5b0c3d056850', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.595664+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i2', 'i2.txt', '1', NULL, 'd9e2862732b04f8101959dab8c028d21', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.606813+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i3', 'i3.txt', '1', NULL, '6ba7edda86d4e8bd5a7d43ed9541bc7e', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.621081+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i4', 'i4.txt', '1', NULL, '41992443bf225b6577322c4df6ee2f42', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.632944+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i0', 'i0.txt', '1', NULL, '1aa37808d47de17834ce1f44cbdbba15', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.653573+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i5', 'i5.txt', '1', NULL, '73c511c2fdd6ec6d450171ae50120dc2', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.673783+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i6', 'i6.txt', '1', NULL, 'f89e09d5c2782ee9302c185aa328c12e', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.682274+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i7', 'i7.txt', '1', NULL, '05bea389ad95fd6f6d4f8351f95cdc08', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.689386+00'),
	('a795b9a2-dc24-4aae-97cd-88f9cf2b3c91', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 'i8', 'i8.txt', '1', NULL, '77a5acbfe5319292ae0b1b1cb0cd2025', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:49.696342+00');


--
-- Data for Name: source_watches; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: spend; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: system_settings; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: tenant_pages; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.tenant_pages VALUES
	('ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', 72),
	('1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 9);


--
-- Data for Name: tenant_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: units; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:0.txt', 'upload:0.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 1, '', '{"origin": "upload:0.txt", "filename": "0.txt", "location": "file:@FOLDER@/0.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.17812+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:1.txt', 'upload:1.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 2, '', '{"origin": "upload:1.txt", "filename": "1.txt", "location": "file:@FOLDER@/1.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.191769+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:2.txt', 'upload:2.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 3, '', '{"origin": "upload:2.txt", "filename": "2.txt", "location": "file:@FOLDER@/2.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.205507+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:3.txt', 'upload:3.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 4, '', '{"origin": "upload:3.txt", "filename": "3.txt", "location": "file:@FOLDER@/3.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.218402+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:4.txt', 'upload:4.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 5, '', '{"origin": "upload:4.txt", "filename": "4.txt", "location": "file:@FOLDER@/4.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.23263+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:6.txt', 'upload:6.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 7, '', '{"origin": "upload:6.txt", "filename": "6.txt", "location": "file:@FOLDER@/6.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.258221+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:7.txt', 'upload:7.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 8, '', '{"origin": "upload:7.txt", "filename": "7.txt", "location": "file:@FOLDER@/7.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.270322+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:8.txt', 'upload:8.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 9, '', '{"origin": "upload:8.txt", "filename": "8.txt", "location": "file:@FOLDER@/8.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.282241+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:9.txt', 'upload:9.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 10, '', '{"origin": "upload:9.txt", "filename": "9.txt", "location": "file:@FOLDER@/9.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.294013+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:10.txt', 'upload:10.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 11, '', '{"origin": "upload:10.txt", "filename": "10.txt", "location": "file:@FOLDER@/10.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.305057+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:11.txt', 'upload:11.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 12, '', '{"origin": "upload:11.txt", "filename": "11.txt", "location": "file:@FOLDER@/11.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.312039+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'f30aca1897124c0b3520e2c52d2ac170', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 17, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.373101+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '839e9b1a91d19bd39f72701e33376c76', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 22, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.386464+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '1bf09bace0b2279a41c7a5f39e4114a8', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 27, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.399955+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '9612f5ff8d9cdde1635fa4aba5d369b2', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 32, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.41906+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '53c8e087a3c040ef734e088de5d5b61a', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 37, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.436545+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'survey', 'upload:5.txt', 'upload:5.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 6, '', '{"origin": "upload:5.txt", "filename": "5.txt", "location": "file:@FOLDER@/5.txt"}', 'done', 0, NULL, '2026-11-29 11:34:44.246321+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 42, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.455708+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '2d8b32bd76bcc96253d0aafe2e860fba', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 47, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.469329+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'fd63ecb1bbdd290733e6c2a67b10c848', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 52, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.483403+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'c691cef61176613fa515f04e8c80a7b4', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 57, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.49729+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '0ffeaaa1509185204c8688dc3700aea6', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 38, 'reader-1', '{"kind": "text", "number": 1, "version": "7bcf0e1e75a6e1f6c03e16bb4b88e81e", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952084110484880, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.458347+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '0165c5ef03b7596c841b482c3b479c20', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 39, 'reader-1', '{"kind": "text", "number": 2, "version": "7bcf0e1e75a6e1f6c03e16bb4b88e81e", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952084110484880, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.462952+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '10e82485e693e478f5dec367f99debde', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 40, 'reader-1', '{"kind": "text", "number": 3, "version": "7bcf0e1e75a6e1f6c03e16bb4b88e81e", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952084110484880, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.46701+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '0c48f432fad768f0775a0ffcd2f28994', '7bcf0e1e75a6e1f6c03e16bb4b88e81e', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 41, 'reader-1', '{"kind": "text", "number": 4, "version": "7bcf0e1e75a6e1f6c03e16bb4b88e81e", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952084110484880, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.4714+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '075a88ffa68e95f86e4c9296fca846d5', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 48, 'reader-1', '{"kind": "text", "number": 1, "version": "fd63ecb1bbdd290733e6c2a67b10c848", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952084111553347, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.493787+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', '59e14936d5c2e6a54155e27ceb4125b0', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 62, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.511258+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'ef2e7acbc3100b5b922635923a40eede', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 67, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.526564+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'index', 'bdd3ea87cd08ea137d59abbe629bdf82', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 72, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:45.535588+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '52a42e3873ba54ad789464ebd3c87518', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 15, 'reader-1', '{"kind": "text", "number": 3, "version": "f30aca1897124c0b3520e2c52d2ac170", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952084105385446, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:44.342402+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '15a6cc35dae0768a6ec8da4ec87e2558', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 16, 'reader-1', '{"kind": "text", "number": 4, "version": "f30aca1897124c0b3520e2c52d2ac170", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952084105385446, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:44.348437+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '43510e04347db7ba3bede50608b170d6', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 21, 'reader-1', '{"kind": "text", "number": 4, "version": "839e9b1a91d19bd39f72701e33376c76", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952084108097093, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.382849+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '173b1b742f7b4f1f25d27c1d1c23bffe', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 23, 'reader-1', '{"kind": "text", "number": 1, "version": "1bf09bace0b2279a41c7a5f39e4114a8", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952084108818325, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.389886+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '3e46fb27acfc83a888b020838d719aca', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 26, 'reader-1', '{"kind": "text", "number": 4, "version": "1bf09bace0b2279a41c7a5f39e4114a8", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952084108818325, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.40825+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '173870a258068263544e88c10a4df48f', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 30, 'reader-1', '{"kind": "text", "number": 3, "version": "9612f5ff8d9cdde1635fa4aba5d369b2", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952084109353610, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.425649+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '55e61fcbaaa3eb00cbd300504015c565', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 31, 'reader-1', '{"kind": "text", "number": 4, "version": "9612f5ff8d9cdde1635fa4aba5d369b2", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952084109353610, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.429903+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '2b06c60097bd26293c1bd7347f92ef76', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 36, 'reader-1', '{"kind": "text", "number": 4, "version": "53c8e087a3c040ef734e088de5d5b61a", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952084109917688, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.449297+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '226e7c5346272657046ed69c1ca0731b', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 45, 'reader-1', '{"kind": "text", "number": 3, "version": "2d8b32bd76bcc96253d0aafe2e860fba", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952084111048597, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.484727+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '1b442be1087d9e1f7c41e6f7f0e0383c', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 50, 'reader-1', '{"kind": "text", "number": 3, "version": "fd63ecb1bbdd290733e6c2a67b10c848", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952084111553347, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.502778+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '5a779e4075e68bf43639da24f221b8df', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 58, 'reader-1', '{"kind": "text", "number": 1, "version": "59e14936d5c2e6a54155e27ceb4125b0", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952084112590988, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.528225+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '20e453327eb2cf34b69c140b29f5a6c3', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 65, 'reader-1', '{"kind": "text", "number": 3, "version": "ef2e7acbc3100b5b922635923a40eede", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952084113074847, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.554613+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '2b2a9797a250656eee84eb5a9d724099', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 69, 'reader-1', '{"kind": "text", "number": 2, "version": "bdd3ea87cd08ea137d59abbe629bdf82", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952084113624784, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.567967+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '5ba0bc3430bae2e131e8133143282524', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 70, 'reader-1', '{"kind": "text", "number": 3, "version": "bdd3ea87cd08ea137d59abbe629bdf82", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952084113624784, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.572818+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '7fd3a940435910b826105ce39c32e83f', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 19, 'reader-1', '{"kind": "text", "number": 2, "version": "839e9b1a91d19bd39f72701e33376c76", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952084108097093, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.369197+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '7409ad035aec116929978f8109154b37', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 20, 'reader-1', '{"kind": "text", "number": 3, "version": "839e9b1a91d19bd39f72701e33376c76", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952084108097093, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.375772+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '76ade6411deb087e4706ff9ad7bf86a5', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 24, 'reader-1', '{"kind": "text", "number": 2, "version": "1bf09bace0b2279a41c7a5f39e4114a8", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952084108818325, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.396823+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '895b98fbff44e0d16e64d1763a160b91', '1bf09bace0b2279a41c7a5f39e4114a8', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 25, 'reader-1', '{"kind": "text", "number": 3, "version": "1bf09bace0b2279a41c7a5f39e4114a8", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952084108818325, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.403773+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '893d6d9a444766f78e7d6547175cbfdb', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 28, 'reader-1', '{"kind": "text", "number": 1, "version": "9612f5ff8d9cdde1635fa4aba5d369b2", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952084109353610, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.416495+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '7af4414b4a99edce961ac2f706e8c44b', '9612f5ff8d9cdde1635fa4aba5d369b2', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 29, 'reader-1', '{"kind": "text", "number": 2, "version": "9612f5ff8d9cdde1635fa4aba5d369b2", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952084109353610, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.421036+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '74d273b2f8052ef31619c5a520b8778b', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 34, 'reader-1', '{"kind": "text", "number": 2, "version": "53c8e087a3c040ef734e088de5d5b61a", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952084109917688, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.439991+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '608cd3216ea4fc6792931643fc951807', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 43, 'reader-1', '{"kind": "text", "number": 1, "version": "2d8b32bd76bcc96253d0aafe2e860fba", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952084111048597, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.475983+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '620c847e3d2b69cd17f277f3e99722ce', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 44, 'reader-1', '{"kind": "text", "number": 2, "version": "2d8b32bd76bcc96253d0aafe2e860fba", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952084111048597, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.480401+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '9758560010e436528f2ff04a441cbdc0', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 53, 'reader-1', '{"kind": "text", "number": 1, "version": "c691cef61176613fa515f04e8c80a7b4", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952084112085728, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.511637+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '7648ef7a09a80ef951cca9668d7aa6a2', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 56, 'reader-1', '{"kind": "text", "number": 4, "version": "c691cef61176613fa515f04e8c80a7b4", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952084112085728, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.524012+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '76b9cb9391cb806cc02989644dccb13c', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 60, 'reader-1', '{"kind": "text", "number": 3, "version": "59e14936d5c2e6a54155e27ceb4125b0", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952084112590988, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.5372+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '849ee59bd8955142bada849a17465ec4', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 68, 'reader-1', '{"kind": "text", "number": 1, "version": "bdd3ea87cd08ea137d59abbe629bdf82", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952084113624784, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.563309+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '5e2eb82593173e05191899323afdbfc8', 'bdd3ea87cd08ea137d59abbe629bdf82', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 71, 'reader-1', '{"kind": "text", "number": 4, "version": "bdd3ea87cd08ea137d59abbe629bdf82", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952084113624784, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.577338+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '3c2c90d0fc4fbdc257396fc16d936a27', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 13, 'reader-1', '{"kind": "text", "number": 1, "version": "f30aca1897124c0b3520e2c52d2ac170", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952084105385446, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:44.329288+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '8b638bb567d22fa179c4dea370e8abac', 'f30aca1897124c0b3520e2c52d2ac170', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 14, 'reader-1', '{"kind": "text", "number": 2, "version": "f30aca1897124c0b3520e2c52d2ac170", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952084105385446, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:44.335563+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'd19d302f6d70026553c2a7365dbd9172', '839e9b1a91d19bd39f72701e33376c76', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 18, 'reader-1', '{"kind": "text", "number": 1, "version": "839e9b1a91d19bd39f72701e33376c76", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952084108097093, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.358666+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'a0ad69df824cd2a628d2687a19d90ef0', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 33, 'reader-1', '{"kind": "text", "number": 1, "version": "53c8e087a3c040ef734e088de5d5b61a", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952084109917688, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.435161+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'fa335ceca2c2cf2c1e4c897f5cfc199d', '53c8e087a3c040ef734e088de5d5b61a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 35, 'reader-1', '{"kind": "text", "number": 3, "version": "53c8e087a3c040ef734e088de5d5b61a", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952084109917688, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.444556+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'b3bc7ae4ff4ae31c3fc21918f8c19ba4', '2d8b32bd76bcc96253d0aafe2e860fba', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 46, 'reader-1', '{"kind": "text", "number": 4, "version": "2d8b32bd76bcc96253d0aafe2e860fba", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952084111048597, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.489367+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '9c0c6abfa29958e75684876b3da6ceb2', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 49, 'reader-1', '{"kind": "text", "number": 2, "version": "fd63ecb1bbdd290733e6c2a67b10c848", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952084111553347, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.498174+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'c2b15746772b721707c848c8231baeab', 'fd63ecb1bbdd290733e6c2a67b10c848', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 51, 'reader-1', '{"kind": "text", "number": 4, "version": "fd63ecb1bbdd290733e6c2a67b10c848", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952084111553347, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.50763+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'de98e0464a654ad7ea38be0780dd6865', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 54, 'reader-1', '{"kind": "text", "number": 2, "version": "c691cef61176613fa515f04e8c80a7b4", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952084112085728, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.515992+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'f716d219bcbb8c14d13fab5c76c7f261', 'c691cef61176613fa515f04e8c80a7b4', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 55, 'reader-1', '{"kind": "text", "number": 3, "version": "c691cef61176613fa515f04e8c80a7b4", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952084112085728, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.519852+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'f06aadaf511ea1f56cee73c07c27f912', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 59, 'reader-1', '{"kind": "text", "number": 2, "version": "59e14936d5c2e6a54155e27ceb4125b0", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952084112590988, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.532441+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'd2fdc22660e49db9ea6686dd96f21ca0', '59e14936d5c2e6a54155e27ceb4125b0', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 61, 'reader-1', '{"kind": "text", "number": 4, "version": "59e14936d5c2e6a54155e27ceb4125b0", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952084112590988, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:44.541274+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '34014310d6018011667b1d8fc356b1ca', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 63, 'reader-1', '{"kind": "text", "number": 1, "version": "ef2e7acbc3100b5b922635923a40eede", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952084113074847, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.546166+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', 'bd2f1e2daafb06ba7ca7bca093cb00f8', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 64, 'reader-1', '{"kind": "text", "number": 2, "version": "ef2e7acbc3100b5b922635923a40eede", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952084113074847, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.550179+00', NULL, NULL),
	('5fa17abf-07eb-4a07-824f-1f16e73ac328', 'read', '806b9859da7da244baccab85b5add496', 'ef2e7acbc3100b5b922635923a40eede', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 66, 'reader-1', '{"kind": "text", "number": 4, "version": "ef2e7acbc3100b5b922635923a40eede", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952084113074847, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:44.558593+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', 'aeed98d6dd2b53bd0999a47e0b28966d', 'aeed98d6dd2b53bd0999a47e0b28966d', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 128, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.915459+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', '07729d73975113cce6ad2026e56abfda', '07729d73975113cce6ad2026e56abfda', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 83, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:12.txt', 'upload:12.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 73, '', '{"origin": "upload:12.txt", "filename": "12.txt", "location": "file:@FOLDER@/12.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.581425+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', 'f77da0385d5c3b8d556146ef9021a9a1', 'f77da0385d5c3b8d556146ef9021a9a1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 88, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:13.txt', 'upload:13.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 74, '', '{"origin": "upload:13.txt", "filename": "13.txt", "location": "file:@FOLDER@/13.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.591498+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:14.txt', 'upload:14.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 75, '', '{"origin": "upload:14.txt", "filename": "14.txt", "location": "file:@FOLDER@/14.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.601188+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:15.txt', 'upload:15.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 76, '', '{"origin": "upload:15.txt", "filename": "15.txt", "location": "file:@FOLDER@/15.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.610717+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:16.txt', 'upload:16.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 77, '', '{"origin": "upload:16.txt", "filename": "16.txt", "location": "file:@FOLDER@/16.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.620061+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'survey', 'upload:17.txt', 'upload:17.txt', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 78, '', '{"origin": "upload:17.txt", "filename": "17.txt", "location": "file:@FOLDER@/17.txt"}', 'done', 0, NULL, '2026-11-29 11:34:45.630042+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '06c564fc1b0ad72beab9f05cb74ef956', '70174ef333cbfb9f6e4df51d21926bee', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 91, 'reader-1', '{"kind": "text", "number": 3, "version": "70174ef333cbfb9f6e4df51d21926bee", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952085549665562, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.693297+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', '70174ef333cbfb9f6e4df51d21926bee', '70174ef333cbfb9f6e4df51d21926bee', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 93, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', 'e9c72d0d15df2a758ad12f78dc28ef12', 'e9c72d0d15df2a758ad12f78dc28ef12', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 98, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', '1e9b940dcceb208936d44ad0a2cc893a', '1e9b940dcceb208936d44ad0a2cc893a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 103, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'index', '589da09ddc6249f922cb4f7a00ddf2e7', '589da09ddc6249f922cb4f7a00ddf2e7', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 108, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '01892ad98550cb536fcf0b19376fc3e2', '589da09ddc6249f922cb4f7a00ddf2e7', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 107, 'reader-1', '{"kind": "text", "number": 4, "version": "589da09ddc6249f922cb4f7a00ddf2e7", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952085551984886, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'pending', 1, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '58978209d47e6e2d3a85a72fe0e2adf6', '589da09ddc6249f922cb4f7a00ddf2e7', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 106, 'reader-1', '{"kind": "text", "number": 3, "version": "589da09ddc6249f922cb4f7a00ddf2e7", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952085551984886, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'pending', 1, NULL, NULL, NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '74e03dfaa9a758d7d8e4fdf02a7944d2', '07729d73975113cce6ad2026e56abfda', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 80, 'reader-1', '{"kind": "text", "number": 2, "version": "07729d73975113cce6ad2026e56abfda", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952085547791838, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.647181+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '9012c35ece2bccf1f12cb248cf675d24', '07729d73975113cce6ad2026e56abfda', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 81, 'reader-1', '{"kind": "text", "number": 3, "version": "07729d73975113cce6ad2026e56abfda", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952085547791838, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.652409+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '91e7e4e937b220589d9ccf06dacb4b0d', '07729d73975113cce6ad2026e56abfda', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 82, 'reader-1', '{"kind": "text", "number": 4, "version": "07729d73975113cce6ad2026e56abfda", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952085547791838, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.657687+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '7a8ff590590f049c383315f43e3ebc0b', 'f77da0385d5c3b8d556146ef9021a9a1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 85, 'reader-1', '{"kind": "text", "number": 2, "version": "f77da0385d5c3b8d556146ef9021a9a1", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952085548808268, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.668451+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '844b78226cf46e26580117eec525d3c5', 'f77da0385d5c3b8d556146ef9021a9a1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 86, 'reader-1', '{"kind": "text", "number": 3, "version": "f77da0385d5c3b8d556146ef9021a9a1", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952085548808268, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.673497+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '4108e7de1fcc503814e50653c2c808cf', '70174ef333cbfb9f6e4df51d21926bee', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 89, 'reader-1', '{"kind": "text", "number": 1, "version": "70174ef333cbfb9f6e4df51d21926bee", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952085549665562, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.68382+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '2f51a2630f8c5b5ad6f25a2bd8a63cf5', '70174ef333cbfb9f6e4df51d21926bee', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 92, 'reader-1', '{"kind": "text", "number": 4, "version": "70174ef333cbfb9f6e4df51d21926bee", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952085549665562, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.69755+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '822a6afffe2fb489df656e92d8409737', 'e9c72d0d15df2a758ad12f78dc28ef12', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 95, 'reader-1', '{"kind": "text", "number": 2, "version": "e9c72d0d15df2a758ad12f78dc28ef12", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952085550493471, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.707088+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '919765da0dd885401b1f5e684af00412', 'e9c72d0d15df2a758ad12f78dc28ef12', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 97, 'reader-1', '{"kind": "text", "number": 4, "version": "e9c72d0d15df2a758ad12f78dc28ef12", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952085550493471, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.716205+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '5d258af7d213939f50078bfd4e803d85', '1e9b940dcceb208936d44ad0a2cc893a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 99, 'reader-1', '{"kind": "text", "number": 1, "version": "1e9b940dcceb208936d44ad0a2cc893a", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952085551272178, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.721645+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '5644a8c4a3eb6c79b87d1fb07756f13d', '1e9b940dcceb208936d44ad0a2cc893a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 100, 'reader-1', '{"kind": "text", "number": 2, "version": "1e9b940dcceb208936d44ad0a2cc893a", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952085551272178, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.72645+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'ae7a8e740df9b40b371ac97e97faf587', '1e9b940dcceb208936d44ad0a2cc893a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 101, 'reader-1', '{"kind": "text", "number": 3, "version": "1e9b940dcceb208936d44ad0a2cc893a", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952085551272178, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.731102+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '6f048b524b62361d3a976a55a8e0e4f4', '1e9b940dcceb208936d44ad0a2cc893a', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 102, 'reader-1', '{"kind": "text", "number": 4, "version": "1e9b940dcceb208936d44ad0a2cc893a", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952085551272178, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.735473+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '54f9ca57f90998ef6ca3fef1b20bbb6b', '07729d73975113cce6ad2026e56abfda', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 79, 'reader-1', '{"kind": "text", "number": 1, "version": "07729d73975113cce6ad2026e56abfda", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952085547791838, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.642126+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', '0996c4f35bb8b4166fc245603e51207a', 'f77da0385d5c3b8d556146ef9021a9a1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 84, 'reader-1', '{"kind": "text", "number": 1, "version": "f77da0385d5c3b8d556146ef9021a9a1", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952085548808268, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.663748+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'e0322a9028b3fff09fb1445d35ff90d1', 'f77da0385d5c3b8d556146ef9021a9a1', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 87, 'reader-1', '{"kind": "text", "number": 4, "version": "f77da0385d5c3b8d556146ef9021a9a1", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952085548808268, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.678261+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'd68bf6b6c06f65d38266cd64e3bf9b0f', '70174ef333cbfb9f6e4df51d21926bee', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 90, 'reader-1', '{"kind": "text", "number": 2, "version": "70174ef333cbfb9f6e4df51d21926bee", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952085549665562, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.68855+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'e20bf7f74f0f3ef709018a715a4ce718', 'e9c72d0d15df2a758ad12f78dc28ef12', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 94, 'reader-1', '{"kind": "text", "number": 1, "version": "e9c72d0d15df2a758ad12f78dc28ef12", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952085550493471, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.70263+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'c9ffa828d64fc1066aa5643a78177dcc', 'e9c72d0d15df2a758ad12f78dc28ef12', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 96, 'reader-1', '{"kind": "text", "number": 3, "version": "e9c72d0d15df2a758ad12f78dc28ef12", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952085550493471, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.71167+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'bc5fc7da57112fe20f937b57f1e77f4f', '589da09ddc6249f922cb4f7a00ddf2e7', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 104, 'reader-1', '{"kind": "text", "number": 1, "version": "589da09ddc6249f922cb4f7a00ddf2e7", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952085551984886, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.740004+00', NULL, NULL),
	('5f1df3cf-4d84-4cbc-b9da-046a61259470', 'read', 'aebd6f84d6b4f01b36ffcecdaca53834', '589da09ddc6249f922cb4f7a00ddf2e7', 'ae03bdc4-06b5-482c-b4eb-abaa1608a2ec', '0e8cc306-6493-4416-8462-8129ca02ed42', 105, 'reader-1', '{"kind": "text", "number": 2, "version": "589da09ddc6249f922cb4f7a00ddf2e7", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952085551984886, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:45.744764+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i1', 'i1', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 110, '', '{"item": {"id": "i1", "path": "i1.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i1", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.596267+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i0', 'i0', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 109, '', '{"item": {"id": "i0", "path": "i0.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i0", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.654731+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i3', 'i3', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 112, '', '{"item": {"id": "i3", "path": "i3.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i3", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.622259+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i6', 'i6', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 115, '', '{"item": {"id": "i6", "path": "i6.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i6", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.683038+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i7', 'i7', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 116, '', '{"item": {"id": "i7", "path": "i7.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i7", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.689799+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i8', 'i8', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 117, '', '{"item": {"id": "i8", "path": "i8.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i8", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.697103+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i2', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 119, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i2", "filename": "i2.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/d9e2862732b04f8101959dab8c028d21-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8"}', 'done', 0, NULL, '2026-11-29 11:34:49.729913+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i2', 'i2', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 111, '', '{"item": {"id": "i2", "path": "i2.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i2", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.607235+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i4', 'i4', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 113, '', '{"item": {"id": "i4", "path": "i4.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i4", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.633366+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'fetch', 'i5', 'i5', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 114, '', '{"item": {"id": "i5", "path": "i5.txt", "size": 29, "rights": null, "settled": true, "version": "1", "fingerprint": null}, "origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i5", "by_hand": false, "readers": [], "returns": false, "document": null}', 'done', 1, NULL, '2026-11-29 11:34:49.674987+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i3', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i3', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 120, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i3", "filename": "i3.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/6ba7edda86d4e8bd5a7d43ed9541bc7e-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc"}', 'done', 0, NULL, '2026-11-29 11:34:49.742017+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i4', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i4', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 121, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i4", "filename": "i4.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/41992443bf225b6577322c4df6ee2f42-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27"}', 'done', 0, NULL, '2026-11-29 11:34:49.753763+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i0', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i0', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 122, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i0", "filename": "i0.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/1aa37808d47de17834ce1f44cbdbba15-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178"}', 'done', 0, NULL, '2026-11-29 11:34:49.764897+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i5', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i5', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 123, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i5", "filename": "i5.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/73c511c2fdd6ec6d450171ae50120dc2-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744"}', 'done', 0, NULL, '2026-11-29 11:34:49.777221+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i8', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i8', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 126, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i8", "filename": "i8.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/77a5acbfe5319292ae0b1b1cb0cd2025-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199"}', 'done', 0, NULL, '2026-11-29 11:34:49.811525+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', 'ac45762e847a7ab4e7762b54e555fd8e', 'aeed98d6dd2b53bd0999a47e0b28966d', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 127, 'reader-1', '{"kind": "text", "number": 1, "version": "aeed98d6dd2b53bd0999a47e0b28966d", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/3aa9f493923556e7032a5b0c3d056850-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee", "mtime_ns": 1795952089586203779, "file_hash": "6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.822798+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i6', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i6', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 124, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i6", "filename": "i6.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/f89e09d5c2782ee9302c185aa328c12e-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49"}', 'done', 0, NULL, '2026-11-29 11:34:49.788654+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i7', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i7', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 125, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i7", "filename": "i7.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/05bea389ad95fd6f6d4f8351f95cdc08-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361"}', 'done', 0, NULL, '2026-11-29 11:34:49.800024+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'survey', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i1', 'source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i1', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 118, '', '{"origin": "source:a795b9a2-dc24-4aae-97cd-88f9cf2b3c91/b918f18e-9b43-43b2-8148-f47bd16e629c/i1", "filename": "i1.txt", "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/3aa9f493923556e7032a5b0c3d056850-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee"}', 'done', 0, NULL, '2026-11-29 11:34:49.717311+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '065f31a9f1873f122a0c13ef0b54d9fd', '2979379304e0a65ccec741692f49e45f', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 131, 'reader-1', '{"kind": "text", "number": 1, "version": "2979379304e0a65ccec741692f49e45f", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/6ba7edda86d4e8bd5a7d43ed9541bc7e-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc", "mtime_ns": 1795952089586855016, "file_hash": "f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.834808+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '71f065a67efbfc7aebdbed370d07a7da', '71f065a67efbfc7aebdbed370d07a7da', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 130, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.9263+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '2979379304e0a65ccec741692f49e45f', '2979379304e0a65ccec741692f49e45f', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 132, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.937086+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', 'fc0a01e84b0efd0b7808c04b73fe49f6', 'fc0a01e84b0efd0b7808c04b73fe49f6', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 134, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.948095+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '295a576c68ccdc1f43af5aba9f135f06', '295a576c68ccdc1f43af5aba9f135f06', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 136, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.958936+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '3f25ef1604b8dba9121f69860827a4ae', '3f25ef1604b8dba9121f69860827a4ae', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 138, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.970677+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', 'c8e86f82e17e2180cfebe558b2805681', 'c8e86f82e17e2180cfebe558b2805681', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 140, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.97998+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '29495e7f8c89c4351b2004fa36b71e15', '29495e7f8c89c4351b2004fa36b71e15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 142, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.988872+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'index', '9d6fca96480d7b27bf17ed5b3237ea77', '9d6fca96480d7b27bf17ed5b3237ea77', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 144, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:49.997559+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '7cd983be07cf9752e193796f17b7d921', '71f065a67efbfc7aebdbed370d07a7da', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 129, 'reader-1', '{"kind": "text", "number": 1, "version": "71f065a67efbfc7aebdbed370d07a7da", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/d9e2862732b04f8101959dab8c028d21-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8", "mtime_ns": 1795952089586203779, "file_hash": "786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.829147+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '20a4590e155fa75ee282bd0a4fb0473f', 'fc0a01e84b0efd0b7808c04b73fe49f6', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 133, 'reader-1', '{"kind": "text", "number": 1, "version": "fc0a01e84b0efd0b7808c04b73fe49f6", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/41992443bf225b6577322c4df6ee2f42-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27", "mtime_ns": 1795952089600088842, "file_hash": "18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.84265+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', 'd3c6392c90b647d6427bf508e4d5adeb', '295a576c68ccdc1f43af5aba9f135f06', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 135, 'reader-1', '{"kind": "text", "number": 1, "version": "295a576c68ccdc1f43af5aba9f135f06", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/1aa37808d47de17834ce1f44cbdbba15-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178", "mtime_ns": 1795952089586203779, "file_hash": "329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.848164+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', 'a57b95c0aeda82ad6136f972d9eaea56', '3f25ef1604b8dba9121f69860827a4ae', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 137, 'reader-1', '{"kind": "text", "number": 1, "version": "3f25ef1604b8dba9121f69860827a4ae", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/73c511c2fdd6ec6d450171ae50120dc2-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744", "mtime_ns": 1795952089606254726, "file_hash": "ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.855492+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', 'bc2368c9335793af6c16b3a1e6b19a7d', 'c8e86f82e17e2180cfebe558b2805681', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 139, 'reader-1', '{"kind": "text", "number": 1, "version": "c8e86f82e17e2180cfebe558b2805681", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/f89e09d5c2782ee9302c185aa328c12e-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49", "mtime_ns": 1795952089626878583, "file_hash": "a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.860799+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '081cb8554c8c5747389929b7db7d1a9a', '29495e7f8c89c4351b2004fa36b71e15', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 141, 'reader-1', '{"kind": "text", "number": 1, "version": "29495e7f8c89c4351b2004fa36b71e15", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/05bea389ad95fd6f6d4f8351f95cdc08-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361", "mtime_ns": 1795952089635569943, "file_hash": "43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.865756+00', NULL, NULL),
	('b918f18e-9b43-43b2-8148-f47bd16e629c', 'read', '129214bf5859e6e6cbbb23838cf3cac3', '9d6fca96480d7b27bf17ed5b3237ea77', '1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2', 'c386e94e-0489-4c45-b8d6-fc9d35f78703', 143, 'reader-1', '{"kind": "text", "number": 1, "version": "9d6fca96480d7b27bf17ed5b3237ea77", "encoding": null, "language": null, "location": "blob:1dc721dc-7b8f-4a4b-9e8c-a5f9dd0008e2/c386e94e-0489-4c45-b8d6-fc9d35f78703/members/77a5acbfe5319292ae0b1b1cb0cd2025-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199", "mtime_ns": 1795952089660845995, "file_hash": "7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:49.870787+00', NULL, NULL);


--
-- Data for Name: upload_sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: upload_parts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: vision_pages; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhooks VALUES
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'crm', 'http://127.0.0.1:38041/hook', '{job.*}', '390c8169-f367-44d2-b4c1-8fc43c00a78a', NULL, true, NULL, 1, '2026-11-29 11:34:50.338183+00', 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, '2026-11-29 11:34:50.150657+00', 'one', '2026-11-29 11:34:50.349072+00', 1, '2026-11-29 11:34:50.150657+00', '2026-11-29 11:34:50.150657+00');


--
-- Data for Name: webhook_deliveries; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhook_deliveries VALUES
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 6, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:aec7fc37-1448-491b-a7d8-107ca68e36e7', 'pending', 0, '2026-11-29 11:34:50.191785+00', '2026-11-29 11:34:50.191785+00', NULL, NULL, NULL, NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 7, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:e5eaf17a-3af8-4a07-b45d-8ea1234d7e19', 'pending', 0, '2026-11-29 11:34:50.192375+00', '2026-11-29 11:34:50.192375+00', NULL, NULL, NULL, NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 8, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6', 'pending', 0, '2026-11-29 11:34:50.192886+00', '2026-11-29 11:34:50.192886+00', NULL, NULL, NULL, NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 9, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:b690a98e-6cf0-4cfa-83bc-345cadd03b11', 'pending', 0, '2026-11-29 11:34:50.193381+00', '2026-11-29 11:34:50.193381+00', NULL, NULL, NULL, NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 10, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:fe7c5599-bb88-46c4-858e-99f82c5d6469', 'pending', 0, '2026-11-29 11:34:50.193869+00', '2026-11-29 11:34:50.193869+00', NULL, NULL, NULL, NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 1, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:aec7fc37-1448-491b-a7d8-107ca68e36e7', 'pending', 1, '2026-11-29 11:34:50.185134+00', '2026-11-29 11:34:55.335851+00', '2026-11-29 11:34:50.335851+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 2, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:e5eaf17a-3af8-4a07-b45d-8ea1234d7e19', 'pending', 1, '2026-11-29 11:34:50.186758+00', '2026-11-29 11:34:55.336424+00', '2026-11-29 11:34:50.336424+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 3, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:b4c1aa4b-5eb0-46e8-bda0-afea9b99c2f6', 'pending', 1, '2026-11-29 11:34:50.187517+00', '2026-11-29 11:34:55.336812+00', '2026-11-29 11:34:50.336812+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 4, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:b690a98e-6cf0-4cfa-83bc-345cadd03b11', 'pending', 1, '2026-11-29 11:34:50.188157+00', '2026-11-29 11:34:55.337178+00', '2026-11-29 11:34:50.337179+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('e29fa6a3-235d-4155-b7b4-316a684fa6f4', 5, 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', 'job:fe7c5599-bb88-46c4-858e-99f82c5d6469', 'pending', 1, '2026-11-29 11:34:50.188797+00', '2026-11-29 11:34:55.337522+00', '2026-11-29 11:34:50.337522+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0);


--
-- Data for Name: webhook_secrets; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhook_secrets VALUES
	('7c2b4800-7e29-42d4-9e51-62411b51b747', 'e29fa6a3-235d-4155-b7b4-316a684fa6f4', 'c164ee10-19b2-4a02-a686-6201039ba9ca', '7f059b67-222e-4481-bcb1-8a9c400b2ffa', '\x0118520eedc4140c4ab9509a5d12ac32a214767a851b8eccbf94669de80aeb11327d0d30852a76136ae6f539cec864566304fc0179b2bbfede2dedd65cc53a8a1a42ebdbd239706552cc21da9a253c99635ef413489222', '2026-11-29 11:34:50.153357+00', NULL);


--
-- Name: generations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.generations_id_seq', 1, true);


--
-- Name: golden_questions_position_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.golden_questions_position_seq', 1, false);


--
-- Name: outbox_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.outbox_id_seq', 10, true);


--
-- Name: restarts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.restarts_id_seq', 1, false);


--
-- Name: units_position_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.units_position_seq', 144, true);


--
-- PostgreSQL database dump complete
--


