/** One recorded conversation with a real server; the files lie in `kubernetes-scenarios/<topic>/` and `kcp-scenarios/<topic>/`. */
export interface Scenario {
  readonly name: string;
  readonly topic: string;
  /** Resource versions of objects are numbered, so that "changed" and "unchanged" count. */
  readonly revisions?: boolean;
  /** Recorded from kcp: annotations under kcp.io count, and captured and computed values are replaced by their names. */
  readonly kcp?: boolean;
  /** A known bug of the recorded server: a correct answer passes, and so does the recorded one. */
  readonly defect?: string;
  readonly steps: readonly Step[];
}

/** A request with its expected answer, a watch, or a computation; see `observe-scenario.ts` for what each part does. */
export interface Step {
  readonly as?: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
  readonly bodyText?: string;
  /** The body is sent in protobuf, cut off after so many bytes if it is a number. */
  readonly protobuf?: true | number;
  /** Puts a text of so many `x` at a place of the body. */
  readonly pad?: Readonly<Record<string, number>>;
  /** Sends so many copies of the body's only element. */
  readonly repeat?: number;
  readonly watch?: string;
  readonly collect?: string;
  readonly count?: number;
  readonly untilType?: string;
  readonly without?: string;
  readonly keep?: boolean;
  /** Ends a collection when no event has arrived for so many milliseconds. */
  readonly quiet?: number;
  readonly pause?: number;
  /** No request: sets variables to `<function>:<text>`. */
  readonly compute?: Readonly<Record<string, string>>;
  readonly until?: Until;
  readonly capture?: Readonly<Record<string, string>>;
  readonly ignore?: readonly string[];
  readonly only?: readonly string[];
  readonly unordered?: readonly string[];
  readonly mask?: readonly string[];
  readonly managedFields?: boolean;
  readonly raw?: boolean;
  /** An answer that is no JSON is YAML. */
  readonly yaml?: boolean;
  readonly expect?: Expectation;
}

/** The request is repeated until all of this holds. */
export interface Until {
  readonly status?: number;
  readonly pointer?: string;
  readonly equals?: unknown;
  readonly contains?: string | readonly string[];
  readonly absent?: string | readonly string[];
  readonly warning?: string;
  readonly within?: number;
}

export interface Expectation {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly events?: readonly unknown[];
}
