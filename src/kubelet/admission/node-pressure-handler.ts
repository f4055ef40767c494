import { evictionRejection } from '../eviction/eviction-rejection.ts';
import type { PressureCondition } from '../eviction/pressure-state.ts';
import type { PodAdmitHandler } from './pod-admit-handler.ts';

const NONE: ReadonlySet<PressureCondition> = new Set();

/** Rejects pods while the node is under pressure. */
export const nodePressureHandler: PodAdmitHandler = (pod, { pressure = NONE }) => evictionRejection(pod, pressure);
