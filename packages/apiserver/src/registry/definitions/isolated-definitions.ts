import { definingObject, type CustomResources, type ResourceDefinition } from '@multiplane/apis';
import type { FaultyObject, ObjectFaults } from '@multiplane/component-base';
import { aggregatedResourceOf } from '../../discovery/resource-entries.ts';
import { definitionHash } from '../../openapi/openapi-group-versions.ts';
import type { DefinitionsOf } from './stored-definitions.ts';

export interface IsolatedDefinitionsModules {
  readonly custom: Pick<CustomResources, 'definitionsOf' | 'readOnlyDefinitionsOf'>;
  readonly faults: ObjectFaults;
}

/** `object`: the one that failures are reported of, if it is not the definition itself. */
export type IsolatedDefinitionsOf = (
  ...args: [...Parameters<DefinitionsOf>, object?: FaultyObject]
) => ReturnType<DefinitionsOf>;

/**
 * {@link DefinitionsOf} that never throws: a definition that cannot be served affects no other one. Its objects can still be read
 * and deleted where that is possible, so that its author can delete it. What discovery and OpenAPI of a whole workspace need of a
 * definition is evaluated here, too; what is expensive, such as its part of an OpenAPI document, has the same boundary where it is
 * built.
 */
export function isolatedDefinitions({ custom, faults }: IsolatedDefinitionsModules): IsolatedDefinitionsOf {
  return (crd, retired, identity, object = definingObject(crd)) => {
    return faults.isolate(
      object,
      () => evaluated(custom.definitionsOf(crd, retired, identity)),
      () =>
        faults.isolate<readonly ResourceDefinition[]>(
          object,
          () => evaluated(custom.readOnlyDefinitionsOf(crd, retired, identity)),
          () => [],
        ),
    );
  };
}

function evaluated(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  for (const definition of definitions) {
    definitionHash(definition);
    aggregatedResourceOf(definition);
  }
  return definitions;
}
