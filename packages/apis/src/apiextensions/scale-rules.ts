import {
  asJson,
  fieldErrors,
  goValueText,
  getOwn,
  isJsonObject,
  type DeepReadonly,
  type FieldError,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';

/** Where a definition keeps what `/scale` shows; paths begin with a dot. */
export interface ScaleRules {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string | undefined;
}

const maxInt32 = 2 ** 31 - 1;

/** The wanted number of replicas must be one that a Scale can carry. */
export function scaleSpecErrors(object: DeepReadonly<KubeObject>, scale: ScaleRules | undefined): FieldError[] {
  return scale === undefined ? [] : replicasErrors(object, scale.specReplicasPath);
}

/** The same for what the status says: replicas and selector. */
export function scaleStatusErrors(object: DeepReadonly<KubeObject>, scale: ScaleRules | undefined): FieldError[] {
  if (scale === undefined) return [];
  const errors = replicasErrors(object, scale.statusReplicasPath);
  const { labelSelectorPath = '' } = scale;
  if (labelSelectorPath === '') return errors;
  const { value, problem } = nested(object, labelSelectorPath);
  const failure =
    problem ??
    (value === undefined || typeof value === 'string' ? undefined : accessorError(labelSelectorPath, value, 'string'));
  if (failure !== undefined) errors.push(fieldErrors.invalid(labelSelectorPath, '', failure));
  return errors;
}

function replicasErrors(object: DeepReadonly<KubeObject>, path: string): FieldError[] {
  const { value, problem } = nested(object, path);
  if (problem !== undefined) return [fieldErrors.invalid(path, 0, problem)];
  if (value === undefined) return [];
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value)))
    return [fieldErrors.invalid(path, 0, accessorError(path, value, 'int64'))];
  if (value < 0) return [fieldErrors.invalid(path, value, 'should be a non-negative integer')];
  if (value > maxInt32) return [fieldErrors.invalid(path, value, `should be less than or equal to ${maxInt32}`)];
  return [];
}

/** The value at a path, or why there can be none (apimachinery: unstructured.NestedFieldNoCopy). */
function nested(
  object: DeepReadonly<KubeObject>,
  path: string,
): { readonly value?: Json | undefined; readonly problem?: string | undefined } {
  let value: Json | undefined = asJson(object as KubeObject);
  const names = path.replace(/^\./, '').split('.');
  for (const [index, name] of names.entries()) {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) {
      const walked = `.${names.slice(0, index + 1).join('.')}`;
      return { problem: accessorError(walked, value, 'map[string]interface{}') };
    }
    value = getOwn(value, name);
  }
  return { value };
}

const accessorError = (path: string, value: Json, expected: string): string =>
  `${path} accessor error: ${goValueText(value)} is of the type ${goTypeOf(value)}, expected ${expected}`;

function goTypeOf(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'object':
      return 'map[string]interface {}';
    default:
      return typeof value === 'number' && !Number.isInteger(value) ? 'float64' : 'int64';
  }
}
