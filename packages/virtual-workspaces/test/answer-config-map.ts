import { parseLabelSelector, statusErrors } from '@multiplane/apimachinery';
import { requiredLabelsParameter } from '@multiplane/apiserver';
import type { Dispatched } from './fake-shard.ts';

/** Answers as a shard that stores a config map with these labels: a GET that requires other labels is 404. */
export function answerConfigMap({ exchange, url }: Dispatched, labels: Readonly<Record<string, string>>): void {
  const required = new URL(url, 'http://shard').searchParams.get(requiredLabelsParameter);
  if (required === null || parseLabelSelector(required).matches(labels))
    exchange.respond(200, JSON.stringify({ kind: 'ConfigMap', metadata: { labels } }));
  else
    exchange.respond(
      404,
      JSON.stringify(statusErrors.notFound({ group: '', resource: 'configmaps' }, 'one').toStatus()),
    );
}
