import type { ResourceDefinition, Verb } from '@multiplane/apis';

/** The verbs of a resource whose objects are being deleted; as Kubernetes for a terminating CustomResourceDefinition. */
const terminatingVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** Definitions of resources whose binding is being deleted: objects can be read and deleted, but not created or updated. */
export class TerminatingResources {
  readonly #terminating = new WeakMap<ResourceDefinition, ResourceDefinition>();

  /** The same result for the same definition. */
  readonly of = (definition: ResourceDefinition): ResourceDefinition => {
    if (definition.terminating === true) return definition;
    let terminating = this.#terminating.get(definition);
    if (terminating === undefined) {
      const verbs = definition.verbs.filter((verb) => terminatingVerbs.includes(verb));
      terminating = { ...definition, verbs, terminating: true };
      this.#terminating.set(definition, terminating);
    }
    return terminating;
  };
}
