/**
 * Scenarios that are not played, each with the reason. The list only shrinks: an entry goes when its reason does, and a
 * scenario that passes although it is listed makes the test fail.
 *
 * Keys are `<topic>` or `<topic>/<file without .json>`.
 */
export const exceptions: Readonly<Record<string, string>> = {
  apply: 'server-side apply has an issue of its own (7)',
  cel: 'CEL rules have an issue of their own (7)',
  policies: 'admission policies need CEL (7)',
  'access/07-an-aggregated-cluster-role-collects-the-rules-of-others': 'compares managedFields (7)',
  'access/08-access-reviews-answer-with-a-reason':
    'rule of a workspace: a subject without access to it is denied everything',
  'access/09-access-reviews-that-are-refused': 'prints managedFields (7)',
  'access/10-rules-reviews': 'rule of a workspace: rules reviews list the verb access',
  'clients/01-kubectl-apply-on-the-client-side': 'compares managedFields (7)',
  'clients/03-kubectl-replace-edit-patch-and-create': 'compares managedFields (7)',
  'clients/04-a-controller-adds-its-finalizer-reports-status-and-cleans-up': 'compares managedFields (7)',
  'controllers/10-the-built-in-flow-schemas-and-levels':
    'flow control belongs to the shard, its objects lie in system:admin and not in every workspace',
  'crud/08-a-namespace-gets-its-finalizer-phase-and-name-label': 'a write that changes nothing but managedFields (7)',
  'metadata/09-managedfields-sent-by-the-client-are-checked': 'compares managedFields (7)',
  'negotiation/02-yaml-answers-and-bodies':
    'rule of a workspace: kcp.io/cluster stands in an answer that is compared as text',
  'negotiation/03-pretty-printing': 'prints managedFields (7)',
  'certificates/05-the-client-signer-signs-what-is-approved': 'the signer is not part of issue 3',
};
