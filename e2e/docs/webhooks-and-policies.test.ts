import { describePage } from '../harness/documentation.ts';

describePage('webhooks-and-policies.md');
