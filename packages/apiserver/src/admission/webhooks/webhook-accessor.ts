import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { webhookClientConfig, type NamedExpression, type WebhookClientConfig } from '@multiplane/apis';
import { fieldOf, listOf, objectOf, textOf, textsOf } from '../matching/read-fields.ts';
import { matchCriteria, matchCriteriaOfRules, type MatchCriteria } from '../matching/request-matcher.ts';
import { brokenConfiguration, type ExpressionCache } from '../policies/policy-hook.ts';

/** One compiled webhook of a configuration (webhook.WebhookAccessor in k8s.io/apiserver). */
export interface WebhookAccessor {
  readonly configuration: string;
  readonly name: string;
  /** Unique among the webhooks of a logical cluster. */
  readonly key: string;
  readonly client: WebhookClientConfig;
  readonly criteria: MatchCriteria;
  readonly conditions: readonly NamedExpression[];
  /** Failure policy Ignore: a failed call allows the request. */
  readonly ignoresFailure: boolean;
  readonly timeoutSeconds: number;
  readonly reviewVersions: readonly string[];
  readonly dryRun: boolean;
  readonly isReinvocable: boolean;
}

/**
 * What stands for a configuration that cannot be compiled: each webhook fails the requests that its rules match, unless its failure
 * policy is to ignore failures.
 */
export function brokenWebhookAccessors(configuration: DeepReadonly<KubeObject>, cause: unknown): WebhookAccessor[] {
  const { name = '' } = configuration.metadata;
  return listOf(configuration, 'webhooks')
    .filter((webhook) => textOf(webhook, 'failurePolicy') !== 'Ignore')
    .map((webhook, index) => ({
      configuration: name,
      name: textOf(webhook, 'name'),
      key: `${name}/${index}/${textOf(webhook, 'name')}`,
      client: webhookClientConfig(undefined),
      criteria: matchCriteriaOfRules(webhook),
      get conditions(): never {
        throw brokenConfiguration(`webhook configuration ${name}`, cause);
      },
      ignoresFailure: false,
      timeoutSeconds: 10,
      reviewVersions: [],
      dryRun: true,
      isReinvocable: false,
    }));
}

export function webhookAccessors(
  configuration: DeepReadonly<KubeObject>,
  compiled: ExpressionCache,
): WebhookAccessor[] {
  const name = configuration.metadata.name ?? '';
  return listOf(configuration, 'webhooks').map((webhook, index) => {
    const seconds = fieldOf(webhook, 'timeoutSeconds');
    const conditions = compiled.matchConditions(webhook);
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
      isReinvocable: textOf(webhook, 'reinvocationPolicy') === 'IfNeeded',
    };
  });
}
