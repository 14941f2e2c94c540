-- current: The languages that a workspace's scans are in; null takes those of the settings.
select ocr_languages from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- change: From now on.
update workspaces set ocr_languages = %(languages)s where id = %(workspace)s and tenant_id = %(tenant)s;

-- read_by_ocr: Files of the workspace that have a page which OCR read, as a job's payload names them.
select d.origin, d.filename, v.location from documents d join document_versions v on v.id = d.current_version
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and exists (
    select from pages p where p.version_id = v.id and (p.engine not in ('native', 'native+human', 'none') or exists (
        select from jsonb_array_elements(p.caveats) c where c->>'kind' = 'language_missing')))
order by d.id;
