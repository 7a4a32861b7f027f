/**
 * Scenarios that are not played, each with the reason. The list only shrinks: an entry goes when its reason does.
 *
 * Keys are `<topic>` or `<topic>/<file without .json>`.
 */
export const exceptions: Readonly<Record<string, string>> = {
  'access/08-access-reviews-answer-with-a-reason':
    'rule of a workspace: a subject without access to it is denied everything',
  'access/10-rules-reviews': 'rule of a workspace: rules reviews list the verb access',
  'controllers/10-the-built-in-flow-schemas-and-levels':
    'flow control belongs to the shard, its objects lie in system:admin and not in every workspace',
  'negotiation/02-yaml-answers-and-bodies':
    'rule of a workspace: kcp.io/cluster stands in an answer that is compared as text',
  'negotiation/03-pretty-printing': 'rule of a workspace: kcp.io/cluster stands in an answer that is compared as text',
  'discovery/06-the-openapi-index-and-document-of-a-custom-resource':
    'as in kcp, the index of the OpenAPI documents has the content type of JSON',
};
