import { describePage } from '../harness/documentation.ts';

describePage('offer-an-api.md');
