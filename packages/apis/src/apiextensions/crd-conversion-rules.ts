import {
  encodedBundleProblem,
  fieldErrors,
  type DeepReadonly,
  type FieldError,
  type FieldPath,
  type JsonObject,
} from '@multiplane/apimachinery';
import { objectAt, textAt, textsAt } from '../fields.ts';
import { webhookClientErrors } from '../webhook-client-rules.ts';
import { labelErrors } from './crd-names.ts';

/** Versions of ConversionReview and AdmissionReview that this server speaks. */
export const reviewVersions = ['v1', 'v1beta1'];

/**
 * `spec.conversion`. Paths are those of Kubernetes' internal version. `old` is that of the stored definition;
 * undefined: the definition is new, and its authorities may be filled in later.
 */
export function conversionErrors(
  conversion: JsonObject | undefined,
  old: DeepReadonly<JsonObject> | undefined,
  path: FieldPath,
): FieldError[] {
  if (conversion === undefined) return [];
  const errors: FieldError[] = [];
  const strategy = textAt(conversion, 'strategy');
  if (strategy === '') errors.push(fieldErrors.required(path.child('strategy')));
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    errors.push(fieldErrors.notSupported(path.child('strategy'), strategy, ['None', 'Webhook']));
  }
  const client = objectAt(conversion, 'webhook', 'clientConfig');
  const versions = textsAt(conversion, 'webhook', 'conversionReviewVersions');
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (client !== undefined) errors.push(fieldErrors.forbidden(path.child('webhookClientConfig'), detail));
    if (versions.length > 0) errors.push(fieldErrors.forbidden(path.child('conversionReviewVersions'), detail));
    return errors;
  }
  if (client === undefined) {
    errors.push(fieldErrors.required(path.child('webhookClientConfig'), 'required when strategy is set to Webhook'));
  } else {
    errors.push(...webhookClientErrors(client, path.child('webhookClientConfig')));
    const bundle = textAt(client, 'caBundle');
    const problem = encodedBundleProblem(bundle);
    if (problem !== undefined && old !== undefined && !hasUnusableAuthorities(old))
      errors.push(fieldErrors.invalid(path.child('webhookClientConfig').child('caBundle'), bundle, problem));
  }
  errors.push(...reviewVersionErrors(versions, path.child('conversionReviewVersions')));
  return errors;
}

/** True for a conversion whose webhook cannot be trusted: its authorities cannot be read. */
export function hasUnusableAuthorities(conversion: DeepReadonly<JsonObject> | undefined): boolean {
  return encodedBundleProblem(textAt(conversion, 'webhook', 'clientConfig', 'caBundle')) !== undefined;
}

/** A list of review versions: at least one that is known, none twice. */
export function reviewVersionErrors(versions: readonly string[], path: FieldPath): FieldError[] {
  if (versions.length === 0) return [fieldErrors.required(path)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) {
      errors.push(fieldErrors.invalid(path.index(index), version, 'duplicate version'));
      continue;
    }
    seen.add(version);
    labelErrors(version, path.index(index), errors);
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    errors.push(fieldErrors.invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  }
  return errors;
}
