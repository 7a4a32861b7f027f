import { deepEqual, fieldErrorText, FieldPath, type Json } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { JwtCelCompiler, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { authenticationConfigurations, type AuthenticationConfigurationObject } from '@multiplane/controllers';
import { readJwtConfiguration, validateJwt } from '@multiplane/generic-server';

/** Each warning is a response header. */
const maxWarnings = 16;

/**
 * Validates WorkspaceAuthenticationConfigurations. Entries that cannot work (no https, no audience, an expression that
 * does not compile, …) are stored with a warning, as kcp stores them; authentication does not use them.
 */
export class AuthenticationConfigurationAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/WorkspaceAuthenticationConfiguration';
  readonly #expressions = new JwtCelCompiler();

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === authenticationConfigurations.group && resource === authenticationConfigurations.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, subresource, object, oldObject } = attributes;
    const { group, resource } = authenticationConfigurations;
    if (definition.group !== group || definition.resource !== resource || subresource !== '') return;
    const { spec } = object as AuthenticationConfigurationObject;
    // An unchanged spec is not validated again, so that labels and finalizers of old objects stay writable.
    const before = (oldObject as AuthenticationConfigurationObject | undefined)?.spec;
    if (before !== undefined && deepEqual(before, spec)) return;
    const errors = (spec?.jwt ?? []).flatMap((entry: Json, index) => [
      ...validateJwt(readJwtConfiguration(entry), FieldPath.of('spec', 'jwt').index(index), {
        expressions: this.#expressions,
        disallowedIssuers: [],
      }).errors,
    ]);
    for (const error of errors.slice(0, maxWarnings))
      attributes.warn(`this entry will not be used: ${fieldErrorText(error)}`);
  }
}
