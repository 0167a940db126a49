/**
 * Each endpoint with due deliveries, over all organizations, and when the earliest is due: one index look-up for each
 * endpoint, however many deliveries it has.
 */
export const webhookQueues = `
create or replace function {schema}.webhook_queues()
returns table (endpoint text, organization text, next_attempt_at bigint)
language plpgsql rows 10 set enable_seqscan = off set enable_sort = off as $queues$
declare
  v_found record;
begin
  select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
    where d.queue = 'due' order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  while found loop
    endpoint := v_found.endpoint;
    organization := v_found.organization;
    next_attempt_at := v_found.next_attempt_at;
    return next;
    select d.endpoint, d.organization, d.next_attempt_at into v_found from {schema}.webhook_delivery d
      where d.queue = 'due' and (d.endpoint, d.organization) > (v_found.endpoint, v_found.organization)
      order by d.endpoint, d.organization, d.next_attempt_at limit 1;
  end loop;
end
$queues$;
`
