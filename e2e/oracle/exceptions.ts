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
  'certificates/05-the-client-signer-signs-what-is-approved': 'the signer is not part of issue 3',
};
