import type { ResourceDefinition, Verb } from '@multiplane/apis';

/** What is left of the verbs of a resource whose objects are being removed (K8.4, C3.4). */
const terminatingVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** Resources while their binding is being deleted: what is there can go, nothing new comes. */
export class TerminatingResources {
  readonly #made = new WeakMap<ResourceDefinition, ResourceDefinition>();

  /** Always the same for one definition. */
  readonly of = (definition: ResourceDefinition): ResourceDefinition => {
    if (definition.terminating === true) return definition;
    let terminating = this.#made.get(definition);
    if (terminating === undefined) {
      const verbs = definition.verbs.filter((verb) => terminatingVerbs.includes(verb));
      terminating = { ...definition, verbs, terminating: true };
      this.#made.set(definition, terminating);
    }
    return terminating;
  };
}
