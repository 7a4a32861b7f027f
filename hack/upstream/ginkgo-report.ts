/** A spec that ran, or was skipped for a reason that it gives. */
export interface GinkgoResult {
  /** The texts of its containers, and its own. */
  readonly name: string;
  readonly state: string;
  readonly message: string;
}

/** What a Ginkgo suite wrote with `--ginkgo.json-report`. */
export interface GinkgoReport {
  readonly results: readonly GinkgoResult[];
  /** False also when no spec failed but a node beside them: BeforeSuite, a timeout of the suite. */
  readonly isSuccess: boolean;
}

interface SuiteReport {
  readonly SuiteSucceeded?: boolean;
  readonly SpecReports?: readonly {
    readonly ContainerHierarchyTexts?: readonly string[] | null;
    readonly LeafNodeType: string;
    readonly LeafNodeText: string;
    readonly State: string;
    readonly Failure?: { readonly Message?: string };
  }[];
}

/** Reads the report. Specs that a focus left out are skipped without a message, and are no results. */
export function ginkgoReport(text: string): GinkgoReport {
  const [suite = {}] = JSON.parse(text) as SuiteReport[];
  const results = (suite.SpecReports ?? [])
    .filter(
      ({ LeafNodeType, State, Failure }) =>
        LeafNodeType === 'It' && (State !== 'skipped' || (Failure?.Message ?? '') !== ''),
    )
    .map((spec) => ({
      name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
      state: spec.State,
      message: spec.Failure?.Message ?? '',
    }));
  return { results, isSuccess: suite.SuiteSucceeded === true };
}
