import {
  fieldErrors,
  FieldPath,
  isJsonObject,
  validateDns1123Subdomain,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { reviewVersionErrors, reviewVersions } from '../apiextensions/crd-conversion-rules.ts';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { at, listAt, numberAt, objectAt, textAt, textsAt } from '../fields.ts';
import { labelSelectorErrors } from '../label-selector-rules.ts';
import { wasEmpty } from '@multiplane/schema';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { webhookClientErrors } from '../webhook-client-rules.ts';
import { matchConditionErrors } from './match-conditions.ts';
import { compileMatchConditions, expressionLimitErrors } from './policy-expressions.ts';
import { ruleErrors } from './rule-validation.ts';
import { expressionsChecked } from './slow-expressions.ts';

export const admissionRegistrationGroup = 'admissionregistration.k8s.io';
export const apiExtensionsCategory = 'api-extensions';

export const mutatingWebhookConfigurations = (): ResourceDefinition => webhookConfigurations('Mutating');
export const validatingWebhookConfigurations = (): ResourceDefinition => webhookConfigurations('Validating');

function webhookConfigurations(type: 'Mutating' | 'Validating'): ResourceDefinition {
  const kind = `${type}WebhookConfiguration`;
  return builtInKind({
    group: admissionRegistrationGroup,
    version: 'v1',
    kind,
    resource: `${kind.toLowerCase()}s`,
    categories: [apiExtensionsCategory],
    namespaced: false,
    component: `io.k8s.api.admissionregistration.v1.${kind}`,
    defaults: (object) => {
      for (const webhook of listAt(object, 'webhooks')) if (isJsonObject(webhook)) fillDefaults(webhook, type);
    },
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: false, onUpdate: ['object'] },
      allowUnconditionalUpdate: false,
      managesGeneration: true,
      // Kubernetes compares the list with the stored one, which is never empty.
      hasChanged: (object) => wasEmpty(object, 'webhooks'),
      validate: (context, object) => expressionsChecked(context, object, validateWebhooks),
      validateUpdate: (context, object) => expressionsChecked(context, object, validateWebhooks),
    }),
    table: nameAgeTable([column('Webhooks', { type: 'integer', description: 'Number of webhooks.' })], (object) => [
      listAt(object, 'webhooks').length,
    ]),
  });
}

function fillDefaults(webhook: JsonObject, type: 'Mutating' | 'Validating'): void {
  webhook['failurePolicy'] ??= 'Fail';
  webhook['matchPolicy'] ??= 'Equivalent';
  webhook['namespaceSelector'] ??= {};
  webhook['objectSelector'] ??= {};
  webhook['timeoutSeconds'] ??= 10;
  if (type === 'Mutating') webhook['reinvocationPolicy'] ??= 'Never';
  for (const rule of listAt(webhook, 'rules')) if (isJsonObject(rule)) rule['scope'] ??= '*';
  const service = objectAt(webhook, 'clientConfig', 'service');
  if (service !== undefined) service['port'] ??= 443;
}

/** Everything that is wrong with a configuration of either kind. */
export function validateWebhooks(object: KubeObject): FieldError[] {
  const limits = expressionLimitErrors(object, FieldPath.of('webhooks'));
  if (limits.length > 0) return limits;
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, webhook] of listAt(object, 'webhooks').entries()) {
    const path = FieldPath.of('webhooks').index(index);
    errors.push(...webhookErrors(webhook, path));
    errors.push(...admissionReviewVersionErrors(webhook, path.child('admissionReviewVersions')));
    const name = textAt(webhook, 'name');
    if (name !== '' && seen.has(name)) errors.push(fieldErrors.duplicate(path.child('name'), name));
    seen.add(name);
  }
  return errors;
}

function admissionReviewVersionErrors(webhook: Json, path: FieldPath): FieldError[] {
  const versions = textsAt(webhook, 'admissionReviewVersions');
  return versions.length === 0
    ? [fieldErrors.required(path, `must specify one of ${reviewVersions.join(', ')}`)]
    : reviewVersionErrors(versions, path);
}

function webhookErrors(webhook: Json, path: FieldPath): FieldError[] {
  const errors = fullyQualifiedNameErrors(textAt(webhook, 'name'), path.child('name'));
  for (const [index, rule] of listAt(webhook, 'rules').entries()) {
    errors.push(...ruleErrors(rule, path.child('rules').index(index)));
  }
  const oneOf = (field: string, choices: readonly string[]): void => {
    const value = at(webhook, field);
    if (typeof value === 'string' && !choices.includes(value)) {
      errors.push(fieldErrors.notSupported(path.child(field), value, choices));
    }
  };
  oneOf('failurePolicy', ['Fail', 'Ignore']);
  oneOf('matchPolicy', ['Equivalent', 'Exact']);
  const withoutEffects = ['None', 'NoneOnDryRun'];
  if (at(webhook, 'sideEffects') === undefined) {
    errors.push(fieldErrors.required(path.child('sideEffects'), `must specify one of ${withoutEffects.join(', ')}`));
  }
  oneOf('sideEffects', withoutEffects);
  const timeout = numberAt(webhook, 'timeoutSeconds');
  if (timeout !== undefined && (timeout < 1 || timeout > 30)) {
    const detail = 'the timeout value must be between 1 and 30 seconds';
    errors.push(fieldErrors.invalid(path.child('timeoutSeconds'), timeout, detail));
  }
  for (const field of ['namespaceSelector', 'objectSelector']) {
    errors.push(...labelSelectorErrors(at(webhook, field), path.child(field)));
  }
  oneOf('reinvocationPolicy', ['IfNeeded', 'Never']);
  errors.push(...webhookClientErrors(at(webhook, 'clientConfig'), path.child('clientConfig')));
  const conditions = listAt(webhook, 'matchConditions');
  const compiled = compileMatchConditions(conditions, { params: false });
  errors.push(...matchConditionErrors(conditions, compiled, path.child('matchConditions')));
  return errors;
}

function fullyQualifiedNameErrors(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [fieldErrors.required(path)];
  const messages = validateDns1123Subdomain(name);
  if (messages.length > 0) return [fieldErrors.invalid(path, name, messages.join(','))];
  return name.split('.').length < 3
    ? [fieldErrors.invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : [];
}
