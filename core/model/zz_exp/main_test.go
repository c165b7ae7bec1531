package exp
import ("testing";"encoding/json";"fmt"
 "github.com/openai/openai-go/v3"
 "github.com/openai/openai-go/v3/packages/param"
)
func TestX(t *testing.T){
 for _, s := range []string{
 `{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"extra_content":{"a":1.0000000000000000000001}},"finish_reason":7}],"usage":{"prompt_tokens":"x"}}`,
 `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":3,"function":{"name":"x","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":null}`,
 `{"choices":{}}`, `[]`, `{"choices":null,"error":{"message":"x","code":502}}`, `{"choices":[{"message":"hi"}]}`,`{"choices":[{"message":{"content":"a"},"message":{"content":"b"}}]}`,`"x"`,`{"choices":[null]}`,
 }{
  var c openai.ChatCompletion
  err := json.Unmarshal([]byte(s), &c)
  fmt.Printf("%v %d", err, len(c.Choices))
  if len(c.Choices)>0 { fmt.Printf(" %s | %q | %q", c.Choices[0].Message.RawJSON(), c.Choices[0].FinishReason, c.Choices[0].Message.Content); fmt.Print(len(c.Choices[0].Message.ToolCalls)) }
  fmt.Println(c.Usage.PromptTokens)
 }
 var p openai.ChatCompletionNewParams
 p.Model="x"
 a := param.Override[openai.ChatCompletionAssistantMessageParam](json.RawMessage(`{"z":1.0000000000000000000001, "role":"assistant","content":"<b>\u003c&é \ud800","a":[ ]}`))
 p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant:&a}, openai.UserMessage("a\xffb<>"))
 f := openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name:"x", Parameters: openai.FunctionParameters{"properties": json.RawMessage(`{"b":1e999,"a":{}}`)}})
 p.Tools = append(p.Tools, f)
 b, err := p.MarshalJSON()
 fmt.Println(string(b), err)
}
