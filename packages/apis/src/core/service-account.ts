import { isJsonObject, type KubeObject } from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { nameAgeTable } from '../tables/columns.ts';

/** References to secrets keep nothing but the name. `token` is served by the token issuer. */
export function serviceAccounts(): ResourceDefinition {
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    resource: 'serviceaccounts',
    shortNames: ['sa'],
    namespaced: true,
    component: 'io.k8s.api.core.v1.ServiceAccount',
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: true, onUpdate: ['update', 'object'] },
      returnsDeletedObject: true,
      prepareForCreate: (_context, object) => keepSecretNames(object),
      prepareForUpdate: (_context, object) => keepSecretNames(object),
    }),
    subresources: {
      token: {
        type: 'connect',
        verbs: ['create'],
        kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      },
    },
    table: nameAgeTable([], () => []),
  });
}

function keepSecretNames(object: KubeObject): void {
  const secrets = object['secrets'];
  if (!Array.isArray(secrets)) return;
  object['secrets'] = secrets.map((secret: unknown) => {
    const name = isJsonObject(secret) ? textAt(secret, 'name') : '';
    return name === '' ? {} : { name };
  });
}
