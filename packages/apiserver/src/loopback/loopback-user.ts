import { type UserInfo, mastersGroup } from '@multiplane/apimachinery';

/** The user of requests that the server sends to itself. */
export const loopbackUser: UserInfo = Object.freeze({
  name: 'system:apiserver',
  uid: '',
  groups: Object.freeze<string[]>([mastersGroup]),
  extra: Object.freeze({}),
});
