import {
  mastersGroup,
  statusErrors,
  type FieldError,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  Authorizer,
  RuleResolver,
} from '@multiplane/generic-server';
import type { CreateHandler, CreateHandlerInput } from '../endpoints/create-handler.ts';
import { understoodSelector, type ReviewSelector } from './review-selectors.ts';
import { validateReview } from './validate-review.ts';

interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: ReviewSelector;
  labelSelector?: ReviewSelector;
}
interface ReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: { path?: string; verb?: string };
  user?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
  namespace?: string;
}

/** SubjectAccessReview and LocalSubjectAccessReview: what another user may do. */
export function subjectAccessReview(modules: { readonly authorizer: Authorizer }): CreateHandler {
  return async (input) => {
    await requireValid(input);
    const spec = specOf(input.object);
    const user: UserInfo = {
      name: spec.user ?? '',
      uid: spec.uid ?? '',
      groups: spec.groups ?? [],
      extra: lowerCaseKeys(spec.extra ?? {}),
    };
    const attributes = attributesOf(spec, user, input.cluster);
    const { audit, info } = input.context;
    const explanation = info.query.get('explain') === 'true' ? new Map<string, string>() : undefined;
    await input.context.work.pause();
    const result = await modules.authorizer.authorize({
      ...attributes,
      ...(isDeep(input, attributes) ? { deep: true } : {}),
      ...(audit === undefined && explanation === undefined
        ? {}
        : {
            annotate: (key: string, value: string) => {
              audit?.annotate(`sar.auth.kcp.io/${key}`, value);
              explanation?.set(`sar.auth.kcp.io/${key}`, explainedText(key, value));
            },
          }),
    });
    const reviewed = withStatus(input.object, result);
    return explanation === undefined ? reviewed : withExplanation(reviewed, explanation);
  };
}

/** The reason of a provider's policy quotes roles of its workspace, which the caller may not be allowed to read. */
const providerPolicy = /(API export "[^"]*"\|"[^"]*" policy: ).*$/s;

function explainedText(key: string, text: string): string {
  return key.endsWith('-reason') ? text.replace(providerPolicy, '$1no role of the provider grants it') : text;
}

/**
 * With `?explain=true` the response has the decision and the reason of each authorizer that was asked as annotations, by the keys of
 * the audit event. The reason of the status stays `access denied`, as in kcp. Only who may create the review sees them.
 */
const withExplanation = (review: KubeObject, explanation: ReadonlyMap<string, string>): KubeObject => ({
  ...review,
  metadata: { ...review.metadata, annotations: Object.fromEntries(explanation) },
});

/**
 * Whether the review skips the workspace content authorizer (kcp's deep SubjectAccessReview), for checks that the
 * control plane makes in clusters that the subject cannot access. Restricted to system:masters. A review of reviews is
 * never deep, because it would bypass that authorizer.
 */
function isDeep({ context }: CreateHandlerInput, { group }: AuthorizationAttributes): boolean {
  return (
    context.exchange.headers['x-kcp-internal-deep-subjectaccessreview'] === 'true' &&
    context.user.groups.includes(mastersGroup) &&
    group !== 'authorization.k8s.io'
  );
}

/** SelfSubjectAccessReview: what the caller may do. */
export function selfSubjectAccessReview(modules: { readonly authorizer: Authorizer }): CreateHandler {
  return async (input) => {
    await requireValid(input);
    return withStatus(
      input.object,
      await modules.authorizer.authorize(attributesOf(specOf(input.object), input.context.user, input.cluster)),
    );
  };
}

/** SelfSubjectRulesReview: all rules of the caller in one namespace. */
export function selfSubjectRulesReview(modules: { readonly rules: RuleResolver }): CreateHandler {
  return async ({ context, cluster, object }) => {
    const namespace = specOf(object).namespace ?? '';
    if (namespace === '') throw statusErrors.badRequest('no namespace on request');
    const { resourceRules, nonResourceRules, incomplete, evaluationError } = await modules.rules.rulesFor(
      context.user,
      cluster,
      namespace,
    );
    return {
      ...object,
      spec: {},
      status: { resourceRules, nonResourceRules, incomplete, ...(evaluationError === '' ? {} : { evaluationError }) },
    };
  };
}

const specOf = (object: KubeObject): ReviewSpec => object['spec'] ?? {};

async function requireValid(input: CreateHandlerInput): Promise<void> {
  const errors: FieldError[] = await validateReview(input);
  if (errors.length === 0) return;
  await input.context.work.pause();
  // Kubernetes loses the kind of these four before it formats the error, so the message has none.
  const invalid = statusErrors.invalid({ group: 'authorization.k8s.io', kind: '' }, '', errors);
  // The text quotes the metadata, and is encoded for the response.
  await input.context.work.pause();
  throw invalid;
}

function attributesOf(spec: ReviewSpec, user: UserInfo, cluster: LogicalClusterName): AuthorizationAttributes {
  const none = { group: '', version: '', namespace: '', resource: '', subresource: '', name: '' };
  const other = spec.nonResourceAttributes;
  if (spec.resourceAttributes === undefined)
    return { user, cluster, isResourceRequest: false, verb: other?.verb ?? '', path: other?.path ?? '', ...none };
  const { verb = '', fieldSelector, labelSelector, ...wanted } = spec.resourceAttributes;
  return {
    user,
    cluster,
    isResourceRequest: true,
    verb,
    path: '',
    ...none,
    ...wanted,
    fieldSelector: understoodSelector('fieldSelector', fieldSelector).selector,
    labelSelector: understoodSelector('labelSelector', labelSelector).selector,
  };
}

function withStatus(object: KubeObject, result: AuthorizationResult): KubeObject {
  const { resourceAttributes = {} } = specOf(object);
  const problems = [
    result.error?.message,
    understoodSelector('fieldSelector', resourceAttributes.fieldSelector).problem,
    understoodSelector('labelSelector', resourceAttributes.labelSelector).problem,
  ].filter((problem) => problem !== undefined);
  return {
    ...object,
    status: {
      allowed: result.decision === 'allow',
      ...(result.decision === 'deny' ? { denied: true } : {}),
      ...(result.reason === '' ? {} : { reason: result.reason }),
      ...(problems.length === 0 ? {} : { evaluationError: problems.join('; ') }),
    },
  };
}

function lowerCaseKeys(extra: Record<string, string[]>): Record<string, string[]> {
  const lower: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const key of Object.keys(extra)) lower[key.toLowerCase()] = extra[key] as string[];
  return lower;
}
