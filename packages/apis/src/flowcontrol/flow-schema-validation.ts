import { fieldErrors, FieldPath, type FieldError, type Json, type KubeObject } from '@multiplane/apimachinery';
import { at, listAt, numberAt, objectAt, textAt, textsAt } from '../fields.ts';
import { labelName, subdomainName } from '../name-rules.ts';

const maxPrecedence = 10000;
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const subjectKinds = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const;

/** Rules of a flow schema's spec. */
export function flowSchemaErrors(object: KubeObject): FieldError[] {
  const path = FieldPath.of('spec');
  const errors: FieldError[] = [];
  const precedence = numberAt(object, 'spec', 'matchingPrecedence') ?? 0;
  const wrong = (detail: string): void =>
    void errors.push(fieldErrors.invalid(path.child('matchingPrecedence'), precedence, detail));
  if (precedence <= 0) wrong('must be a positive value');
  if (precedence > maxPrecedence) wrong(`must not be greater than ${maxPrecedence}`);
  if (Number(precedence) === 1 && object.metadata.name !== 'exempt') {
    wrong("only the schema named 'exempt' may have matchingPrecedence 1");
  }
  const method = objectAt(object, 'spec', 'distinguisherMethod');
  const methods = ['ByNamespace', 'ByUser'];
  if (method !== undefined && !methods.includes(textAt(method, 'type'))) {
    // The message shows the structure with the Go field names of Kubernetes' internal version.
    const value = { Type: textAt(method, 'type') };
    errors.push(fieldErrors.notSupported(path.child('distinguisherMethod', 'type'), value, methods));
  }
  const level = textAt(object, 'spec', 'priorityLevelConfiguration', 'name');
  const levelPath = path.child('priorityLevelConfiguration', 'name');
  if (level === '') errors.push(fieldErrors.required(levelPath, 'must reference a priority level'));
  else errors.push(...subdomainName(level).map((message) => fieldErrors.invalid(levelPath, level, message)));
  for (const [index, rule] of listAt(object, 'spec', 'rules').entries()) {
    errors.push(...ruleErrors(rule, path.child('rules').index(index)));
  }
  return errors;
}

function ruleErrors(rule: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const subjects = listAt(rule, 'subjects');
  for (const [index, subject] of subjects.entries()) {
    errors.push(...subjectErrors(subject, path.child('subjects').index(index)));
  }
  if (subjects.length === 0) {
    errors.push(fieldErrors.required(path.child('subjects'), 'subjects must contain at least one value'));
  }
  const resourceRules = listAt(rule, 'resourceRules');
  const nonResourceRules = listAt(rule, 'nonResourceRules');
  if (resourceRules.length + nonResourceRules.length === 0) {
    errors.push(fieldErrors.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  for (const [index, item] of resourceRules.entries()) {
    errors.push(...resourceRuleErrors(item, path.child('resourceRules').index(index)));
  }
  for (const [index, item] of nonResourceRules.entries()) {
    errors.push(...nonResourceRuleErrors(item, path.child('nonResourceRules').index(index)));
  }
  return errors;
}

function subjectErrors(subject: Json, path: FieldPath): FieldError[] {
  const kind = textAt(subject, 'kind');
  if (!Object.hasOwn(subjectKinds, kind)) {
    return [fieldErrors.notSupported(path.child('kind'), kind, Object.keys(subjectKinds))];
  }
  const own = subjectKinds[kind as keyof typeof subjectKinds];
  const named = objectAt(subject, own);
  const where = path.child(own);
  const errors: FieldError[] = [];
  if (named === undefined) {
    errors.push(fieldErrors.required(where, `${own} is required when subject kind is '${kind}'`));
  } else {
    const name = textAt(named, 'name');
    if (name === '') errors.push(fieldErrors.required(where.child('name')));
    else if (kind === 'ServiceAccount' && name !== '*') {
      errors.push(...subdomainName(name).map((message) => fieldErrors.invalid(where.child('name'), name, message)));
    }
    if (kind === 'ServiceAccount') errors.push(...namespaceErrors(named, where.child('namespace')));
  }
  for (const [other, field] of Object.entries(subjectKinds)) {
    if (other !== kind && objectAt(subject, field) !== undefined) {
      const detail = `${field} is forbidden when subject kind is not '${other}'`;
      errors.push(fieldErrors.forbidden(path.child(field), detail));
    }
  }
  return errors;
}

function namespaceErrors(account: Json, path: FieldPath): FieldError[] {
  const namespace = textAt(account, 'namespace');
  if (namespace === '') return [fieldErrors.required(path, 'must specify namespace for service account')];
  return labelName(namespace).map((message) => fieldErrors.invalid(path, namespace, message));
}

/** A list that must not be empty and in which `*` stands alone; true when it holds the wildcard. */
function listErrors(
  values: readonly string[],
  path: FieldPath,
  empty: string,
  others: string,
  errors: FieldError[],
): boolean {
  if (values.length === 0) errors.push(fieldErrors.required(path, empty));
  if (!values.includes('*')) return false;
  if (values.length > 1) {
    errors.push(fieldErrors.invalid(path, values, `if '*' is present, must not specify other ${others}`));
  }
  return true;
}

function verbErrors(rule: Json, path: FieldPath, errors: FieldError[]): void {
  const wanted = textsAt(rule, 'verbs');
  const where = path.child('verbs');
  if (listErrors(wanted, where, 'verbs must contain at least one value', 'verbs', errors)) return;
  if (!wanted.every((verb) => verbs.includes(verb))) errors.push(fieldErrors.notSupported(where, wanted, verbs));
}

function resourceRuleErrors(rule: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  verbErrors(rule, path, errors);
  const groups = 'resource rules must supply at least one api group';
  listErrors(textsAt(rule, 'apiGroups'), path.child('apiGroups'), groups, 'api groups', errors);
  const resources = 'resource rules must supply at least one resource';
  listErrors(textsAt(rule, 'resources'), path.child('resources'), resources, 'resources', errors);
  const namespaces = textsAt(rule, 'namespaces');
  const where = path.child('namespaces');
  if (namespaces.length === 0) {
    if (at(rule, 'clusterScope') !== true) {
      const why = 'resource rules that are not cluster scoped must supply at least one namespace';
      errors.push(fieldErrors.required(where, why));
    }
  } else if (!listErrors(namespaces, where, '', 'namespaces', errors)) {
    for (const [index, name] of namespaces.entries()) {
      errors.push(...labelName(name).map((message) => fieldErrors.invalid(where.index(index), name, message)));
    }
  }
  return errors;
}

function nonResourceRuleErrors(rule: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  verbErrors(rule, path, errors);
  const urls = textsAt(rule, 'nonResourceURLs');
  const where = path.child('nonResourceURLs');
  const empty = 'nonResourceURLs must contain at least one value';
  if (!listErrors(urls, where, empty, 'non-resource URLs', errors)) {
    for (const [index, url] of urls.entries()) {
      const problem = urlProblem(url);
      if (problem !== undefined) errors.push(fieldErrors.invalid(where.index(index), url, problem));
    }
  }
  return errors;
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const wildcard = url.indexOf('*');
  if (wildcard >= 0 && (wildcard < url.length - 1 || !url.endsWith('/*')))
    return 'wildcard can only do suffix matching';
  return undefined;
}
