import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { webhookClientConfig, type NamedExpression, type WebhookClientConfig } from '@multiplane/apis';
import { fieldOf, listOf, objectOf, textOf, textsOf } from '../matching/read-fields.ts';
import { matchCriteria, type MatchCriteria } from '../matching/request-matcher.ts';
import type { CompiledExpressions } from '../policies/policy-hook.ts';

/** One webhook of a configuration, ready to be used (K6.4). */
export interface WebhookHook {
  readonly configuration: string;
  readonly name: string;
  /** Tells it from all others that act on a logical cluster, also from those of the same name. */
  readonly key: string;
  readonly client: WebhookClientConfig;
  readonly criteria: MatchCriteria;
  readonly conditions: readonly NamedExpression[];
  /** What cannot be asked counts as consent. */
  readonly ignoresFailure: boolean;
  readonly timeoutSeconds: number;
  readonly reviewVersions: readonly string[];
  readonly dryRun: boolean;
  readonly reinvoked: boolean;
}

export function webhookHooks(configuration: DeepReadonly<KubeObject>, compiled: CompiledExpressions): WebhookHook[] {
  const name = configuration.metadata.name ?? '';
  return listOf(configuration, 'webhooks').map((webhook, index) => {
    const seconds = fieldOf(webhook, 'timeoutSeconds');
    const conditions = compiled.ofConditions(webhook);
    return {
      configuration: name,
      name: textOf(webhook, 'name'),
      key: `${name}/${index}/${textOf(webhook, 'name')}`,
      client: webhookClientConfig(objectOf(webhook, 'clientConfig')),
      criteria: matchCriteria(webhook),
      get conditions() {
        return conditions();
      },
      ignoresFailure: textOf(webhook, 'failurePolicy') === 'Ignore',
      timeoutSeconds: typeof seconds === 'number' ? seconds : 10,
      reviewVersions: textsOf(webhook, 'admissionReviewVersions'),
      dryRun: ['None', 'NoneOnDryRun'].includes(textOf(webhook, 'sideEffects')),
      reinvoked: textOf(webhook, 'reinvocationPolicy') === 'IfNeeded',
    };
  });
}
