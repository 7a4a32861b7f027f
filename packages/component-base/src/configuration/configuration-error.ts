/**
 * A configuration document that cannot be used. The message names the file and lists the problems in the form of
 * Kubernetes' field errors: `policy.yaml: rules[0].level: Required value`.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly problems: readonly string[];

  constructor(file: string, problems: readonly string[], options?: ErrorOptions) {
    super(`${file}: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`, options);
    this.problems = problems;
  }
}
