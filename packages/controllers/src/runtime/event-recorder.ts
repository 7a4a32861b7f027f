export { EventRecorder, type EventSubject, type NewEvent } from '@multiplane/client';
