// The rules as Prometheus' API describes them: /api/v1/rules.

import {fetchIfThere} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';

export interface Alert {
  state: string;
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  activeAt?: string;
  value: string;
}

export interface Rule {
  type: 'alerting' | 'recording';
  name: string;
  query: string;
  duration?: number;
  keepFiringFor?: number;
  labels?: Record<string, string>;
  state?: string;
  health: string;
  lastError?: string;
  evaluationTime: number;
  lastEvaluation: string;
  alerts?: Alert[] | null;
}

export interface Group {
  name: string;
  file: string;
  interval: number;
  evaluationTime: number;
  lastEvaluation: string;
  rules: Rule[] | null;
}

/** useRules asks for the groups of rules at each turn. */
export function useRules(turn: number) {
  return useRequest(async signal => {
    const answer = await fetchIfThere<{groups: Group[] | null}>('api/v1/rules', {}, {signal});
    return Array.isArray(answer?.groups) ? answer.groups : [];
  }, [], turn);
}

/** Lease is what the adapter knows of which one evaluates a group; there are leases where several share a store. */
export interface Lease {
  group: string;
  file: string;
  held: boolean;
  known: boolean;
  until: string;
  evaluated: string;
}

/** useLeases asks for the leases of the groups at each turn. */
export function useLeases(turn: number): Lease[] {
  const request = useRequest(signal => fetchIfThere<Lease[] | null>('api/v1/status/leases', {}, {signal}), [], turn);
  return Array.isArray(request.answer) ? request.answer : [];
}
