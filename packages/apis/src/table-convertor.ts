import type { DeepReadonly, Json, KubeObject } from '@multiplane/apimachinery';

/** metav1.TableColumnDefinition. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: always shown; above: only with `-o wide`. */
  readonly priority: number;
}

/** Turns objects of one kind into rows. */
export interface TableConvertor {
  readonly columns: readonly TableColumn[];
  /** One cell per column. `now` is for ages. */
  cells(object: DeepReadonly<KubeObject>, now: Date): Json[];
}
