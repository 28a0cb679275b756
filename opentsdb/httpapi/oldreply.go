package httpapi

import "net/http"

// WriteOld answers on a path of OpenTSDB 1 with a value in JSON.
func WriteOld(w http.ResponseWriter, r *Request, v any) error {
	body, err := Marshal(v)
	if err != nil {
		return err
	}
	before, after := JSONP(r.Request)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(before + string(body) + after))
	return nil
}

// WriteOldError answers on a path of OpenTSDB 1 with a short error.
func WriteOldError(w http.ResponseWriter, status int, message string) error {
	body, err := Marshal(map[string]string{"err": message})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}
