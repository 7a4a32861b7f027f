/** The part of a resource's definition that request metrics read. `ResourceDefinition` of apiserver satisfies it. */
export interface ServedResource {
  /** Built-in resources always have metric series of their own; the number of others that do is limited. */
  readonly origin: 'built-in' | 'custom';
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Present: another endpoint serves the objects. */
  readonly virtual?: object | undefined;
  /** Subresources by name. */
  readonly subresources: Readonly<Record<string, unknown>>;
}
