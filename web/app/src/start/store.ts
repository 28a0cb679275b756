import {fetchData} from '../lib/http.ts';
import {useRequest, type Request} from '../lib/request.ts';

export interface Count {
  name: string;
  value: number;
}

export interface Cardinality {
  headStats: {numSeries: number; numLabelPairs: number; chunkCount: number};
  seriesCountByMetricName: Count[];
  labelValueCountByLabelName: Count[];
  memoryInBytesByLabelName: Count[];
  seriesCountByLabelValuePair: Count[];
}

/** useCardinality asks what there is most of in the store. */
export function useCardinality(limit: number, turn = 0): Request<Cardinality> {
  return useRequest(signal => fetchData<Cardinality>('api/v1/status/tsdb', {limit}, {signal}), [limit], turn);
}

/** isEmpty reports whether the store has no series; false while that is not known. */
export function isEmpty(r: Request<Cardinality>): boolean {
  return r.answer?.headStats.numSeries === 0;
}
