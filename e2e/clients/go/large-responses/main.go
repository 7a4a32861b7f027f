// Reads a large object and writes a small one over each connection, in turns, with net/http: over HTTP/1.1, and over HTTP/2 when
// PROTOCOL is 2. Prints how many requests got a response, and why the others did not.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const small = `{"metadata":{"name":"small"},"data":{"a":"x"}}`

func main() {
	ca, err := os.ReadFile(os.Getenv("CA"))
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	connections, _ := strconv.Atoi(os.Getenv("CONNECTIONS"))
	maps := os.Getenv("MAPS")

	outcomes := map[string]int{}
	var lock sync.Mutex
	var group sync.WaitGroup
	for range connections {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: os.Getenv("PROTOCOL") == "2"}
		client := &http.Client{Transport: transport}
		send := func(method, url, body string) {
			outcome := sendOne(client, method, url, body)
			lock.Lock()
			defer lock.Unlock()
			outcomes[outcome]++
		}
		group.Add(1)
		go func() {
			defer group.Done()
			for range rounds {
				send(http.MethodGet, maps+"/large", "")
				send(http.MethodPost, maps+"?dryRun=All", small)
				send(http.MethodGet, maps, "")
			}
		}()
	}
	group.Wait()
	lines := []string{}
	for outcome, count := range outcomes {
		lines = append(lines, fmt.Sprintf("%d %s", count, outcome))
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func sendOne(client *http.Client, method, url, body string) string {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	// net/http repeats idempotent requests whose connection was closed; a body that cannot be read twice prevents that.
	request.GetBody = nil
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	large := "False"
	if len(content) > 80000 {
		large = "True"
	}
	return fmt.Sprintf("%d %s", response.StatusCode, large)
}
