/**
 * The canonical body of an event's deliveries (part 8), made of the event's canonical text. The state of a mandate
 * follows from the type of its event; an approved one is active if it had started by then, compared as text of equal
 * length.
 */
export const webhookBody = `
create or replace function {schema}.webhook_body(p_organization text, p_mandate text, p_text text) returns text
language plpgsql stable as $body$
declare
  v_event json := p_text::json;
  v_type text := v_event ->> 'type';
  v_at text := v_event ->> 'occurred_at';
  v_starts_at text;
  v_state text;
begin
  if v_type = 'mandate.approved' then
    select rtrim(e.text::json #>> '{data,window,starts_at}', 'Z') into v_starts_at from {schema}.event e
      where e.organization = p_organization and e.mandate = p_mandate and e.seq = 1;
    v_starts_at := rpad(v_starts_at || case when position('.' in v_starts_at) = 0 then '.' else '' end, 29, '0');
    v_state := case when rtrim(v_at, 'Z') >= v_starts_at collate "C" then 'ACTIVE' else 'SCHEDULED' end;
  else
    v_state := case v_type when 'mandate.created' then 'PENDING_APPROVAL' when 'mandate.activated' then 'ACTIVE'
      when 'mandate.rejected' then 'REJECTED' when 'mandate.consumed' then 'CONSUMED'
      when 'mandate.revoked' then 'REVOKED' when 'mandate.expired' then 'EXPIRED' end;
  end if;
  return '{"data":{' || coalesce('"authorization_id":' || to_json(v_event ->> 'authorization_id')::text || ',', '')
    || '"mandate_id":' || to_json(p_mandate)::text || coalesce(',"state":"' || v_state || '"', '')
    || ',"version":' || (v_event ->> 'mandate_version') || '},"id":' || to_json(v_event ->> 'id')::text
    || ',"occurred_at":' || to_json(v_at)::text || ',"type":' || to_json(v_type)::text || '}';
end
$body$;
`
