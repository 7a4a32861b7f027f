import {
  deepCopy,
  formatTime,
  humanDuration,
  isJsonObject,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { listAt, numberAt, objectAt, textAt } from '../fields.ts';
import type { ResourceDefinition, StrategyContext } from '../resource-definition.ts';
import type { TableConvertor } from '../table-convertor.ts';
import { ageColumn, ageOf, column, nameColumn } from '../tables/columns.ts';
import { csrChangeErrors, csrErrors } from './csr-validation.ts';

/** The spec is the author's and never changes; `approval` decides, `status` carries the certificate. */
export function certificateSigningRequests(): ResourceDefinition {
  const base = defaultStrategy({
    metadataChecks: { standardFinalizers: true, onUpdate: ['object', 'kind', 'update'] },
    // Any name will do; the registry refuses those that cannot stand in a path.
    validateName: () => [],
  });
  return builtInKind({
    group: 'certificates.k8s.io',
    version: 'v1',
    kind: 'CertificateSigningRequest',
    resource: 'certificatesigningrequests',
    shortNames: ['csr'],
    namespaced: false,
    component: 'io.k8s.api.certificates.v1.CertificateSigningRequest',
    strategy: {
      ...base,
      prepareForCreate: (context, object) => {
        nameAuthor(context, object);
        object['status'] = {};
      },
      validate: (_context, object) => csrErrors(object),
      prepareForUpdate: (_context, object, old) => {
        keepField(object, old, 'spec');
        keepField(object, old, 'status');
      },
      validateUpdate: (_context, object, old) => [...csrErrors(object), ...csrChangeErrors(object, old, {})],
    },
    subresources: {
      approval: {
        type: 'object',
        verbs: ['get', 'patch', 'update'],
        strategy: {
          ...base,
          prepareForUpdate: (context, object, old) => {
            stampConditions(object, old, context.now());
            const conditions = listAt(object, 'status', 'conditions');
            keepField(object, old, 'spec');
            object['status'] = {
              ...deepCopy<JsonObject>(objectAt(old, 'status') ?? {}),
              conditions: conditions as Json[],
            };
            if (conditions.length === 0) delete (object['status'] as JsonObject)['conditions'];
          },
          validateUpdate: (_context, object, old) => [
            ...csrErrors(object),
            ...csrChangeErrors(object, old, { approval: true }),
          ],
        },
      },
      status: statusSubresource(base, {
        prepareForUpdate: (context, object, old) => {
          keepField(object, old, 'spec');
          stampConditions(object, old, context.now());
        },
        validateUpdate: (_context, object, old) => [
          ...csrErrors(object),
          ...csrChangeErrors(object, old, { certificate: true }),
        ],
      }),
    },
    fieldSelectors: { 'spec.signerName': (object) => textAt(object, 'spec', 'signerName') },
    table,
  });
}

/** The requesting user is recorded as author, whatever the body says. */
function nameAuthor({ user }: StrategyContext, object: KubeObject): void {
  const spec = objectAt(object, 'spec');
  if (spec === undefined) return;
  for (const field of ['username', 'uid', 'groups', 'extra']) delete spec[field];
  if (user.name !== '') spec['username'] = user.name;
  if (user.uid !== '') spec['uid'] = user.uid;
  if (user.groups.length > 0) spec['groups'] = [...user.groups];
  const extra: [string, Json][] = Object.entries(user.extra).map(([key, values]) => [key, [...values]]);
  if (extra.length > 0) spec['extra'] = Object.fromEntries(extra);
}

/** Fills in the times of conditions that came without; a condition that was there keeps its time of transition. */
function stampConditions(object: KubeObject, old: DeepReadonly<KubeObject>, now: Date): void {
  const time = formatTime(now);
  for (const condition of listAt(object, 'status', 'conditions')) {
    if (!isJsonObject(condition)) continue;
    if (textAt(condition, 'lastUpdateTime') === '') condition['lastUpdateTime'] = time;
    if (textAt(condition, 'lastTransitionTime') !== '') continue;
    const before = listAt(old, 'status', 'conditions').find(
      (candidate) =>
        textAt(candidate, 'type') === textAt(condition, 'type') &&
        textAt(candidate, 'status') === textAt(condition, 'status'),
    );
    condition['lastTransitionTime'] = textAt(before, 'lastTransitionTime') || time;
  }
}

const table: TableConvertor = {
  columns: [
    nameColumn,
    ageColumn,
    column('SignerName', { description: 'Who is asked for the certificate.' }),
    column('Requestor', { description: 'Who asks.' }),
    column('RequestedDuration', { description: 'How long the certificate should be valid.' }),
    column('Condition', { description: 'Where the request stands.' }),
  ],
  cells: (object, now) => {
    const duration = numberAt(object, 'spec', 'expirationSeconds');
    return [
      object.metadata.name ?? '',
      ageOf(object, now),
      textAt(object, 'spec', 'signerName') || '<none>',
      textAt(object, 'spec', 'username'),
      duration === undefined ? '<none>' : humanDuration(Number(duration) * 1000),
      conditionText(object),
    ];
  },
};

function conditionText(csr: DeepReadonly<KubeObject>): string {
  const has = (type: string): boolean =>
    listAt(csr, 'status', 'conditions').some((condition) => textAt(condition, 'type') === type);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  const failed = has('Failed') ? ',Failed' : '';
  return `${decision}${failed}${textAt(csr, 'status', 'certificate') === '' ? '' : ',Issued'}`;
}
